/**
 * The WebRTC library, loaded on first use: the package is an optional dependency, and everything except WebRTC runs without it.
 * Connections are created and closed only here, and counted: the garbage collector does not end them.
 */
import { createRequire } from 'node:module';
import type * as Library from 'node-datachannel';
import type { PeerConnection, RtcConfig } from 'node-datachannel';
import { assert } from '../../lib/assert.ts';
import { isCutShort } from '../codec/engine-file.ts';
import { fail, messageOf, succeed, type Result } from '../../lib/result.ts';

export interface RtcEngine {
  readonly library: typeof Library;
}

const live = new Set<PeerConnection>();

export function liveConnections(): number {
  return live.size;
}

/** Path of the library's binary; null: not installed, or not where npm puts it. */
export function findLibraryFile(): string | null {
  const { resolve } = createRequire(import.meta.url);
  for (const libc of ['gnu', 'musl'])
    try {
      return resolve(`@node-datachannel/${process.platform}-${process.arch}-${libc}/node_datachannel.node`);
    } catch {
      // Try the next one.
    }
  return null;
}

async function loadLibrary(): Promise<typeof Library> {
  const file = findLibraryFile();
  if (file !== null && isCutShort(file)) throw new Error(`${file} is cut short`);
  return import('node-datachannel');
}

/** Never rejects; the error says what to do. The library prints nothing. */
export async function openRtcEngine(
  load: () => Promise<typeof Library> = loadLibrary,
): Promise<Result<RtcEngine, string>> {
  try {
    return succeed({ library: await load() });
  } catch (error) {
    return fail(
      'no WebRTC: package node-datachannel is not installed or does not load on ' +
        `${process.platform}/${process.arch}; run npm ci: ${messageOf(error).split('\n')[0]?.slice(0, 300) ?? ''}`,
    );
  }
}

/** Binds a UDP port for the connections that share it, until the returned function is called. Throws if it cannot be bound. */
export function bindUdpPort({ library }: RtcEngine, host: string | null, port: number): () => void {
  try {
    const listener = new library.IceUdpMuxListener(port, host ?? undefined);
    return () => listener.stop();
  } catch {
    throw new Error(`UDP port ${port} is in use or cannot be bound`);
  }
}

export function makeConnection({ library }: RtcEngine, config: RtcConfig): PeerConnection {
  const connection = new library.PeerConnection('peer', config);
  live.add(connection);
  return connection;
}

export function closeConnection(connection: PeerConnection): void {
  assert(live.delete(connection), 'a connection is closed once');
  connection.close();
}
