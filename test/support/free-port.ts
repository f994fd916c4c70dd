/** Finds a port that is not in use, for a process whose port must be known before it starts. */
import { createServer } from 'node:net';

/** Below the range that systems assign automatically, so that none of these is taken by chance. */
const [firstPort, ports] = [10_000, 10_000];

/** Another process may still take the port before it is used. Rejects when `host` is not an address of this machine. */
export async function findFreePort(host: string): Promise<number> {
  for (;;) {
    const port = firstPort + Math.floor(Math.random() * ports);
    if (await isFree(host, port)) return port;
  }
}

function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}
