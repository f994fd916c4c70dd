/** A port that nobody listens on, for a process that has to be told its port before it starts. */
import { createServer, type AddressInfo } from 'node:net';

/** Somebody else may take it before it is used. Rejects when `host` is not an address of this machine. */
export function findFreePort(host: string): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port: 0, exclusive: true }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
