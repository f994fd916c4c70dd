/**
 * The addresses of a running server, for the command line beside it: port 0 means that only the server knows. Written
 * when it is ready, removed when it stops; one that was left behind by a crash is told by its process being gone.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { livingPid } from '../../storage/lmdb/data-directory.ts';
import type { Settings } from '../config/settings-schema.ts';

export interface Runtime {
  readonly pid: number;
  /** By name, as `host:port`. */
  readonly listeners: Readonly<Record<string, string>>;
  /** Of the API: the absolute path of its certificate; null or left out: it has none. */
  readonly apiCertFile?: string | null;
}

const fileName = 'runtime.json';

export function writeRuntimeFile(
  dataDirectory: string,
  listeners: Runtime['listeners'],
  { api: { tls_cert_file: certFile } }: Pick<Settings, 'api'>,
): void {
  const apiCertFile = certFile === null ? null : resolve(certFile);
  const runtime: Runtime = { pid: process.pid, listeners, apiCertFile };
  writeFileSync(join(dataDirectory, fileName), `${JSON.stringify(runtime)}\n`, { mode: 0o600 });
}

export function removeRuntimeFile(dataDirectory: string): void {
  rmSync(join(dataDirectory, fileName), { force: true });
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
