/**
 * The addresses of a running server, for the command line beside it: port 0 means that only the server knows. Written
 * when it is ready, removed when it stops; one that was left behind by a crash is told by its process being gone.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { livingPid, removeOwn } from '../../storage/lmdb/data-directory.ts';
import type { Settings } from '../config/settings-schema.ts';

export interface Runtime {
  readonly pid: number;
  /** By name, as `host:port`. */
  readonly listeners: Readonly<Record<string, string>>;
  /** The absolute path of each listener's certificate; left out: it has none. */
  readonly certFiles: Readonly<Partial<Record<TlsListener, string>>>;
}

const tlsListeners = ['api', 'sleep', 'signal', 'media'] as const;
export type TlsListener = (typeof tlsListeners)[number];

export function certFilesOf(settings: Pick<Settings, TlsListener>): Runtime['certFiles'] {
  return Object.fromEntries(
    tlsListeners.flatMap((name) => {
      const { tls_cert_file: certFile } = settings[name];
      return certFile === null ? [] : [[name, resolve(certFile)]];
    }),
  );
}

const fileName = 'runtime.json';

export function writeRuntimeFile(
  dataDirectory: string,
  listeners: Runtime['listeners'],
  settings: Pick<Settings, TlsListener>,
): void {
  const runtime: Runtime = { pid: process.pid, listeners, certFiles: certFilesOf(settings) };
  writeFileSync(join(dataDirectory, fileName), `${JSON.stringify(runtime)}\n`, { mode: 0o600 });
}

export function removeRuntimeFile(dataDirectory: string): void {
  removeOwn(join(dataDirectory, fileName));
}

/** Null when no server is ready on this directory. */
export function readRuntimeFile(dataDirectory: string): Runtime | null {
  try {
    const runtime = JSON.parse(readFileSync(join(dataDirectory, fileName), 'utf8')) as Runtime;
    return livingPid(dataDirectory) === runtime.pid ? runtime : null;
  } catch {
    return null;
  }
}
