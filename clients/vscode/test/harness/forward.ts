/** One address for the models of many tests: what a daemon asks there goes to the model of the test that runs. */

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Forward {
  url: string;
  /** Where the next connections go: a port on this machine. */
  to(port: number): void;
  /** Nothing listens at the address any more, until `listen`. */
  deaf(): Promise<void>;
  listen(): Promise<void>;
  stop(): void;
}

export async function startForward(): Promise<Forward> {
  let target = 9; // nothing listens there
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    open.add(near);
    near.pipe(far).pipe(near);
    // Either end takes the other with it: that is how a daemon stops a model.
    near
      .on("close", () => {
        far.destroy();
        open.delete(near);
      })
      .on("error", () => far.destroy());
    far.on("close", () => near.destroy()).on("error", () => near.destroy());
  });
  let port = 0;
  const listen = (): Promise<void> => new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  const deaf = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      open.forEach((socket) => socket.destroy());
    });
  await listen();
  port = (server.address() as AddressInfo).port;
  const to = (next: number): void => {
    target = next;
  };
  return { url: `http://127.0.0.1:${String(port)}`, to, deaf, listen, stop: () => void server.close() };
}
