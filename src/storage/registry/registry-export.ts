/**
 * The registry as a file, streamed: one moment of the store whatever is written meanwhile, a piece of text at a
 * time as the reader asks for it. With secrets it imports back to an equal store; without, every secret is
 * masked and an import refuses it. Source: running.md, Data.
 */
import type { JsonObject } from '../../model/json.ts';
import { maskedSecret } from './entry-reader.ts';
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

/** Pieces of about 64 Ki characters; stop early with `return()`, which a broken `for` loop does. */
export function exportRegistry(
  tables: RegistryTables,
  request: ExportRequest,
): Generator<string, void, undefined> {
  const pieces = request.form === 'ndjson' ? linePieces : documentPieces;
  const shown = request.withSecrets ? (json: JsonObject) => json : maskSecrets;
  return tables.environment.snapshot((snapshot) =>
    inChunks(pieces((kind) => shownEntries(tables, kind, snapshot, shown))),
  );
}

type EntriesOf = (kind: KindName) => Iterable<JsonObject>;

function* shownEntries(
  tables: RegistryTables,
  kind: KindName,
  snapshot: SnapshotOptions,
  shown: (json: JsonObject) => JsonObject,
): Generator<JsonObject, void, undefined> {
  for (const entry of tables.entries(kind, snapshot)) yield shown(writeEntry(kind, entry));
}

function* linePieces(entriesOf: EntriesOf): Generator<string, void, undefined> {
  for (const kind of kindNames)
    for (const json of entriesOf(kind)) yield `${JSON.stringify({ kind, ...json })}\n`;
}

function* documentPieces(entriesOf: EntriesOf): Generator<string, void, undefined> {
  for (const [order, kind] of kindNames.entries()) {
    yield `${order === 0 ? '{' : ','}\n  ${JSON.stringify(listNames[kind])}: [`;
    let between = '\n    ';
    for (const json of entriesOf(kind)) {
      yield between + JSON.stringify(json);
      between = ',\n    ';
    }
    yield ']';
  }
  yield '\n}\n';
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

/** An entry as a listing shows it. */
export function maskSecrets(json: JsonObject): JsonObject {
  const masked: Record<string, unknown> = { ...json };
  for (const field of secretFields) if (field in masked) masked[field] = maskedSecret;
  return masked;
}

const secretFields = ['secret', 'secret_key'];
