/** One address for the models of many tests: what a daemon asks there goes to the model of the test that runs. */

import { type AddressInfo, connect, createServer } from "node:net";

export interface Forward {
  url: string;
  /** Where the next connections go: a port on this machine. */
  to(port: number): void;
  stop(): void;
}

export async function startForward(): Promise<Forward> {
  let target = 9; // nothing listens there
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    near.pipe(far).pipe(near);
    // Either end takes the other with it: that is how a daemon stops a model.
    near.on("close", () => far.destroy()).on("error", () => far.destroy());
    far.on("close", () => near.destroy()).on("error", () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const to = (next: number): void => {
    target = next;
  };
  return { url: `http://127.0.0.1:${String(port)}`, to, stop: () => void server.close() };
}
