/** A port that nobody listens on, for a process that has to be told its port before it starts. */
import { createServer } from 'node:net';

/** Below those that systems give to connections and to listeners without a port: nobody gets one of these by chance. */
const [firstPort, ports] = [10_000, 10_000];

/** Somebody else may take it before it is used. Rejects when `host` is not an address of this machine. */
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
