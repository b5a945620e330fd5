/** Line ends taken off a text for comparing, and put back. Pure. */

export function plain(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** The line ends of `like` for a text that has line feeds. */
export function lineEnds(text: string, like: string): string {
  return like.includes("\r\n") ? text.replace(/\n/g, "\r\n") : text;
}
