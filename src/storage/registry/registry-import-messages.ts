/** The request and the result of an import, and all that crosses to its worker thread and back. */
import type { EnvironmentMode } from '../lmdb/environment.ts';
import type { KindName } from './registry-kinds.ts';

export interface ImportRequest {
  /** JSON document or NDJSON. */
  readonly file: string;
  /** True: afterwards the store holds what the file holds and nothing else. */
  readonly replace: boolean;
  /** True: a file imported before under this path, whose content is the same, is left alone. Not with `replace`. */
  readonly skipUnchanged: boolean;
  /** Left out: secrets have to be long. */
  readonly allowShortSecrets?: boolean;
}

export interface ImportReport {
  readonly file: string;
  /** The file has not changed since it was imported; nothing was done. */
  readonly skipped: boolean;
  /** Of the whole file; lowercase hex. */
  readonly sha256: string;
  /** Entries read, by kind. */
  readonly counts: Readonly<Record<KindName, number>>;
}

/** Nothing has changed in the store. No secret is in it. */
export interface ImportFailure {
  readonly file: string;
  /** `line 12`, `devices[11]`, `byte 40`; null: the file as a whole. */
  readonly where: string | null;
  readonly kind: KindName | null;
  readonly id: string | null;
  readonly field: string | null;
  readonly reason: string;
  /** All of it in one line. */
  readonly message: string;
}

export type ImportResult =
  { readonly ok: true; readonly value: ImportReport } | { readonly ok: false; readonly error: ImportFailure };

/** To the worker, as its data. */
export interface ImportTask {
  readonly directory: string;
  /** The one in which the server has the store open. */
  readonly mode: EnvironmentMode;
  readonly request: ImportRequest;
}

/** From the worker. */
export type ImportMessage =
  | { readonly kind: 'progress'; readonly entries: number }
  | { readonly kind: 'result'; readonly result: ImportResult };
