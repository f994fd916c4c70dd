/**
 * The file of a backup, version 1: sixteen bytes that name it, its version and the length of its manifest (four bytes each, most
 * significant first), the manifest as JSON, the rows of each table and the bytes of each file in the order of the manifest, and
 * the SHA-256 of all of it. A row is the length of its key (two bytes), of its value (four), the key and the value, as they stand
 * in the store; rows ascend by their keys. Source: docs/adr/0026.
 */
import { z } from 'zod';
import { decodeJsonObject } from '../../lib/utf8.ts';
import { StoreOpenError } from '../lmdb/store-format.ts';

export const backupMagic = Buffer.from('reveille backup\n');
export const backupVersion = 1;

/** What stands before the manifest: the magic, the version and the manifest's length. */
export const backupHeadBytes = backupMagic.length + 8;
export const backupManifestBytesMax = 1024 * 1024;
export const backupDigestBytes = 32;
/** Before a row's key and value: their lengths. */
export const backupRowHeadBytes = 6;
/** LMDB takes no longer key. */
export const backupKeyBytesMax = 1978;
/** A row of a store has some kilobytes at most. */
export const backupValueBytesMax = 64 * 1024 * 1024;
const tablesMax = 96;
const filesMax = 32;

/** Files of a data directory beside those of LMDB, of which a backup may have each: tokens, keys, and the audit log, newest first. */
export const keyFileNames = ['ops.token', 'ops-tokens.json', 'token-keys.json'] as const;
const otherFileForm = /^(?:ops\.token|ops-tokens\.json|token-keys\.json|audit\.log(?:\.[1-9])?)$/;

const tableForm = z.object({
  file: z.enum(['registry', 'state', 'webhooks']),
  name: z.string().regex(/^[a-z0-9-]{1,64}$/),
  rows: z.number().int().nonnegative(),
});
const fileForm = z.object({ name: z.string().regex(otherFileForm), bytes: z.number().int().nonnegative() });
const manifestForm = z.object({
  /** Of the program that wrote it. */
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

/** Up to and including the manifest. */
export function encodeBackupHead(manifest: BackupManifest): Buffer {
  const json = Buffer.from(JSON.stringify(manifest));
  const head = Buffer.alloc(backupHeadBytes);
  backupMagic.copy(head);
  head.writeUInt32BE(backupVersion, backupMagic.length);
  head.writeUInt32BE(json.length, backupMagic.length + 4);
  return Buffer.concat([head, json]);
}

/** The length of the manifest. `name`: of the file, for the StoreOpenError that it throws. */
export function decodeBackupHead(head: Buffer, name: string): number {
  const version = head.readUInt32BE(backupMagic.length);
  if (version !== backupVersion)
    throw new StoreOpenError(
      `${name} has version ${version} of the form of backups, and this release reads version ${backupVersion}: ` +
        `use the release that wrote it, or a later one`,
    );
  const bytes = head.readUInt32BE(backupMagic.length + 4);
  if (bytes > backupManifestBytesMax) throw damagedBackup(name, `a manifest of ${bytes} bytes`);
  return bytes;
}

/** Throws a StoreOpenError when it is none that a backup has. */
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
  if (new Set(names).size !== names.length) throw damagedBackup(name, 'its manifest has a name twice');
  return parsed.data;
}

export function damagedBackup(name: string, fault: string): StoreOpenError {
  return new StoreOpenError(`${name} is damaged (${fault}): nothing was made of it; use another backup`);
}

export function cutBackup(name: string): StoreOpenError {
  return new StoreOpenError(
    `${name} is cut short: nothing was made of it; use another backup, or copy it again`,
  );
}
