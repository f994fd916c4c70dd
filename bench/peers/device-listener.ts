/** The port where a peer's devices connect. */
import { createServer, type Socket } from 'node:net';

/** As long as our sleep port's: no server is to lose connections in the kernel that another would have kept. */
const acceptBacklog = 32_768;

/** Resolves to the port. */
export function listenForDevices(accept: (socket: Socket) => void): Promise<number> {
  const server = createServer({ noDelay: true }, accept);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0, backlog: acceptBacklog }, () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : 0);
    });
  });
}
