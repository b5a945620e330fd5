/** The page's words in the person's language: the extension's bundle, handed over in the page itself. */

const bundle = JSON.parse(document.body.dataset["words"] ?? "{}") as Record<string, string>;

/** `{0}`, `{1}`, … are filled in. English is its own key. */
export function t(text: string, ...values: (string | number)[]): string {
  const words = bundle[text] ?? text;
  return words.replace(/\{(\d)\}/g, (hole, at: string) => String(values[Number(at)] ?? hole));
}
