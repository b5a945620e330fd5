/** Text as a person must see it before saying yes: nothing in it can hide a part of it. Pure. */

// Controls but tab and line feed, soft hyphen, invisible and direction-changing characters, tags, surrogates on their own.
const HIDING =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

export function visible(text: string): string {
  return text.replace(HIDING, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

// What VS Code draws as an icon in its menus, and as nothing where there is none of the name: `$(rm x)` has no such form,
// `$(evil)` has.
const ICON = /\$\([A-Za-z0-9-]+(?:~[A-Za-z]+)?\)/g;
const GAP = /[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]{40,}/g;

/** One line of a menu of VS Code, as it stands: no icons, no line ends, no gap that moves a part of it off the screen. */
export function menuLine(text: string): string {
  return visible(text)
    .replace(/\r?\n/g, " ⏎ ")
    .replace(GAP, (gap) => ` <${String(gap.length)} blanks> `)
    .replace(ICON, "\\$&");
}
