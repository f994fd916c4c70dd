/**
 * The backup format, version 1: a magic of sixteen bytes, the version and the length of the manifest (four bytes each, big-endian),
 * the manifest as JSON, the rows of each table and the bytes of each file in the order of the manifest, and the SHA-256 of all of it.
 * A row is the length of its key (two bytes) and value (four), then key and value as stored; rows ascend by key. Source:
 * docs/adr/0026.
 */
import { z } from 'zod';
import { decodeJsonObject } from '../../lib/utf8.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';

export const backupMagic = Buffer.from('reveille backup\n');
export const backupVersion = 1;

/** Bytes before the manifest: magic, version and length of the manifest. */
export const backupHeadBytes = backupMagic.length + 8;
export const backupManifestBytesMax = 1024 * 1024;
export const backupDigestBytes = 32;
/** Bytes before a row's key: the lengths of key and value. */
export const backupRowHeadBytes = 6;
export const backupKeyBytesMax = 1978;
/** Rows of a store have a few kilobytes at most. */
export const backupValueBytesMax = 64 * 1024 * 1024;
const tablesMax = 96;
const filesMax = 32;

/** Optional files of a data directory, apart from LMDB's: tokens, keys, and the audit log, newest first. */
export const keyFileNames = ['ops.token', 'ops-tokens.json', 'token-keys.json'] as const;
const otherFileForm = /^(?:ops\.token|ops-tokens\.json|token-keys\.json|audit\.log(?:\.[1-9])?)$/;

const tableForm = z.object({
  file: z.enum(['registry', 'state', 'webhooks']),
  name: z.string().regex(/^[a-z0-9-]{1,64}$/),
  rows: z.number().int().nonnegative(),
});
const fileForm = z.object({ name: z.string().regex(otherFileForm), bytes: z.number().int().nonnegative() });
const manifestForm = z.object({
  release: z.string().min(1).max(64),
  store_format: z.number().int().positive(),
  /** ISO 8601. */
  at: z.iso.datetime(),
  tables: z.array(tableForm).max(tablesMax),
  files: z.array(fileForm).max(filesMax),
});

export type BackupManifest = z.infer<typeof manifestForm>;
export type BackupTable = BackupManifest['tables'][number];

export function isOtherFileName(name: string): boolean {
  return otherFileForm.test(name);
}

export function countRows({ tables }: BackupManifest): number {
  return tables.reduce((sum, { rows }) => sum + rows, 0);
}

export function encodeBackupHead(manifest: BackupManifest): Buffer {
  const json = Buffer.from(JSON.stringify(manifest));
  const head = Buffer.alloc(backupHeadBytes);
  backupMagic.copy(head);
  head.writeUInt32BE(backupVersion, backupMagic.length);
  head.writeUInt32BE(json.length, backupMagic.length + 4);
  return Buffer.concat([head, json]);
}

/** Returns the length of the manifest. Throws a StoreOpenError that names the file as `name`. */
export function decodeBackupHead(head: Buffer, name: string): number {
  const version = head.readUInt32BE(backupMagic.length);
  if (version !== backupVersion)
    throw new StoreOpenError(
      `${name} has version ${version} of the backup format, and this release reads version ${backupVersion}: ` +
        `use the release that wrote it, or a later one`,
    );
  const bytes = head.readUInt32BE(backupMagic.length + 4);
  if (bytes > backupManifestBytesMax) throw damagedBackup(name, `a manifest of ${bytes} bytes`);
  return bytes;
}

/** Throws a StoreOpenError when the manifest is invalid. */
export function decodeManifest(bytes: Buffer, name: string): BackupManifest {
  const json = decodeJsonObject(bytes);
  if (!json.ok) throw damagedBackup(name, `its manifest is ${json.error}`);
  const parsed = manifestForm.safeParse(json.value);
  if (!parsed.success)
    throw damagedBackup(name, `its manifest has ${parsed.error.issues[0]?.path.join('.')}`);
  const names = [
    ...parsed.data.tables.map((table) => `${table.file} ${table.name}`),
    ...parsed.data.files.map((file) => file.name),
  ];
  if (new Set(names).size !== names.length) throw damagedBackup(name, 'its manifest names an item twice');
  return parsed.data;
}

export function damagedBackup(name: string, fault: string): StoreOpenError {
  return new StoreOpenError(`${name} is damaged (${fault}): nothing was restored; use another backup`);
}

export function cutBackup(name: string): StoreOpenError {
  return new StoreOpenError(
    `${name} is cut short: nothing was restored; use another backup, or copy it again`,
  );
}
