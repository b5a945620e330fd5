/** Text as a person must see it before saying yes: nothing in it can hide a part of it. Pure. */

// Controls but tab and line feed, soft hyphen, invisible and direction-changing characters, tags, surrogates on their own.
const HIDING =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

export function visible(text: string): string {
  return text.replace(HIDING, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
