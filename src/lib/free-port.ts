/** A TCP port that nobody listens on, for who cannot ask for port 0 itself. */
import { createServer } from 'node:net';

/** Somebody else may take it before it is used. Rejects when `host` is not an address of this machine. */
export function findFreePort(host: string): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port: 0, exclusive: true }, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
