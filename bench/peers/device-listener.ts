/** The device port of a peer. */
import { createServer, type Socket } from 'node:net';

/** Equal to our sleep port's, so that the kernel drops connections of neither server earlier. */
const acceptBacklog = 32_768;

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
