/** The connection to the extension. */

import type { FromPage } from "../panel/messages";

/** What the page remembers while it is hidden. */
export interface Remembered {
  draft: string;
  history: string[];
}

interface Host {
  postMessage(message: FromPage): void;
  getState(): Remembered | undefined;
  setState(state: Remembered): void;
}

declare function acquireVsCodeApi(): Host;

export const host = acquireVsCodeApi();
