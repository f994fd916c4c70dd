/**
 * Streams the registry as a file from one snapshot of the store, piece by piece as the reader asks. With secrets, an import restores
 * an equal store; without, every secret is masked, and an import rejects the file. Source: running.md, Data.
 */
import type { JsonObject } from '../../model/json.ts';
import { maskedSecret, maskUrl } from '../../model/registry.ts';
import type { SnapshotOptions } from '../lmdb/environment.ts';
import { writeEntry } from './registry-entry.ts';
import { kindNames, listNames, type KindName } from './registry-kinds.ts';
import type { RegistryTables } from './registry-tables.ts';
import type { RegistryForm } from './registry-text.ts';
import { exportChunkChars } from '../lmdb/store-limits.ts';

export interface ExportRequest {
  readonly form: RegistryForm;
  readonly withSecrets: boolean;
}

/** Pieces of about 64 Ki characters. To stop early, call `return()`, as a broken `for` loop does. */
export function exportRegistry(
  tables: RegistryTables,
  request: ExportRequest,
): Generator<string, void, undefined> {
  return tables.environment.snapshot((snapshot) => inChunks(framedEntries(tables, request, snapshot)));
}

function* framedEntries(
  tables: RegistryTables,
  { form, withSecrets }: ExportRequest,
  snapshot: SnapshotOptions,
): Generator<string, void, undefined> {
  const frame = new RegistryFrame(form);
  for (const kind of kindNames)
    for (const entry of tables.entries(kind, snapshot)) {
      const json = writeEntry(kind, entry);
      yield frame.entry(kind, withSecrets ? json : maskSecrets(json));
    }
  yield frame.end();
}

/** Formats entries, which arrive ordered by kind. */
class RegistryFrame {
  readonly #form: RegistryForm;
  #begun = 0;
  #between = '';

  constructor(form: RegistryForm) {
    this.#form = form;
  }

  entry(kind: KindName, json: JsonObject): string {
    if (this.#form === 'ndjson') return `${JSON.stringify({ kind, ...json })}\n`;
    const text = this.#beginLists(kindNames.indexOf(kind) + 1) + this.#between + JSON.stringify(json);
    this.#between = ',\n    ';
    return text;
  }

  end(): string {
    return this.#form === 'ndjson' ? '' : `${this.#beginLists(kindNames.length)}]\n}\n`;
  }

  #beginLists(count: number): string {
    if (this.#begun >= count) return '';
    this.#between = '\n    ';
    const heads = kindNames
      .slice(this.#begun, count)
      .map((kind) => `\n  ${JSON.stringify(listNames[kind])}: [`);
    const before = this.#begun === 0 ? '{' : '],';
    this.#begun = count;
    return before + heads.join('],');
  }
}

function* inChunks(pieces: Iterable<string>): Generator<string, void, undefined> {
  let chunk = '';
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length < exportChunkChars) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

/** The entry with masked secrets, for listings. */
export function maskSecrets(json: JsonObject): JsonObject {
  const masked: Record<string, unknown> = { ...json };
  for (const field of secretFields) if (field in masked) masked[field] = maskedSecret;
  if (typeof json['url'] === 'string') masked['url'] = maskUrl(json['url']);
  return masked;
}

const secretFields = ['secret', 'secret_key'];
