/** The ports that edges connect to: a Unix socket for local ones, TLS by a shared key for others. */
import { rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.ts';
import { readLinkKey } from '../lib/link/link-key.ts';
import { listenPsk, type PskListener } from '../lib/link/psk-transport.ts';
import { formatListenAddress, type ListenAddress } from '../lib/connections/listen-address.ts';
import { edgePsk } from './edge-language.ts';

/** Only this user can connect. Rejects with a sentence for the operator. */
export function listenLocally(path: string, accept: (stream: Duplex) => void): Promise<Server> {
  // Left over from a core that was killed: the holder of the data directory is the only one that listens here.
  if (process.platform !== 'win32') rmSync(path, { force: true });
  const server = createServer(accept);
  const listening = new Promise<Server>((resolve, reject) => {
    server.on('error', (cause) =>
      reject(new Error(`cannot listen for edges on ${path}: ${cause.message}`, { cause })),
    );
    server.once('listening', () => resolve(server));
  });
  // Mode 0600 from its first moment on.
  const mask = process.umask(0o177);
  server.listen(path);
  process.umask(mask);
  return listening;
}

export interface ElsewhereSettings {
  readonly address: ListenAddress;
  readonly keyFile: string;
}

/** `refused`: somebody came who has not shown the key. Rejects with a sentence for the operator. */
export async function listenElsewhere(
  { address, keyFile }: ElsewhereSettings,
  clock: Clock,
  accept: (stream: Duplex) => void,
  refused: (sentence: string) => void,
): Promise<PskListener> {
  const key = await readLinkKey(keyFile, 'edges.key_file');
  try {
    return await listenPsk({ ...address, key }, edgePsk, clock, accept, refused);
  } catch (cause) {
    const where = formatListenAddress(address);
    throw new Error(`cannot listen on ${where} (edges.listen): in use, or not an address of this machine`, {
      cause,
    });
  }
}
