/**
 * Addresses of a running server, for the command line on the same machine; needed since port 0 is only known to the server. Written
 * when it is ready, removed when it stops. After a crash the file is stale: its process no longer exists.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { livingPid, removeOwn } from '../../storage/lmdb/data-directory.ts';
import type { Settings } from '../config/settings-schema.ts';

export interface Runtime {
  readonly pid: number;
  /** `host:port` by listener. */
  readonly listeners: Readonly<Record<string, string>>;
  /** Absolute path of the certificate by listener; absent: no TLS. */
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

/** Null: no server is ready on this directory. */
export function readRuntimeFile(dataDirectory: string): Runtime | null {
  try {
    const runtime = JSON.parse(readFileSync(join(dataDirectory, fileName), 'utf8')) as Runtime;
    return livingPid(dataDirectory) === runtime.pid ? runtime : null;
  } catch {
    return null;
  }
}
