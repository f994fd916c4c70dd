/** A store with rows in every file, and backups of it as bytes. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApplicationId, DeviceId, ProductId } from '../../src/model/ids.ts';
import { openBackup } from '../../src/storage/backup/backup-writer.ts';
import {
  backupDigestBytes,
  encodeBackupHead,
  type BackupManifest,
  BackupReader,
} from '../../src/storage/backup/backup-format.ts';
import type { Store } from '../../src/storage/lmdb/open-store.ts';
import { RegistryStore } from '../../src/storage/registry/registry-store.ts';
import { RegistryWriter } from '../../src/storage/registry/registry-write.ts';
import { temporaryStore, type Ending } from './temporary-store.ts';
import { draftOf, openJournal } from './test-journal.ts';

export const takenAtMs = Date.parse('2026-11-23T22:00:00.000Z');

export const filesBeside: Readonly<Record<string, string>> = {
  'ops.token': 'a token\n',
  'token-keys.json': '{"keys": []}\n',
  'audit.log': '{"action":"newest"}\n',
  'audit.log.1': '{"action":"older"}\n',
};

/** A store with three devices, two events, and the files outside LMDB. */
export async function filledStore(t: Ending): Promise<Store> {
  const store = temporaryStore(t);
  const writer = new RegistryWriter(store.registry, new RegistryStore(store.registry));
  await writer.put('application', { appId: 'app' as ApplicationId, name: 'An application' });
  await writer.put('product', { productId: 'doorbell' as ProductId, appIds: ['app' as ApplicationId] });
  for (const id of ['DOOR-1', 'DOOR-2', 'DOOR-3'])
    await writer.put('device', {
      deviceId: id as DeviceId,
      productId: 'doorbell' as ProductId,
      secret: `secret of ${id}`,
      expiresAt: null,
      disabled: false,
    });
  const { journal, events } = openJournal(store);
  for (const number of [1, 2]) events.append(draftOf('DOOR-1', number));
  await journal.allCommitted();
  for (const [name, text] of Object.entries(filesBeside))
    writeFileSync(join(store.directory, name), text, { mode: 0o600 });
  return store;
}

export async function backupOf(directory: string): Promise<Buffer> {
  const backup = await openBackup(directory, takenAtMs);
  const pieces: Buffer[] = [];
  for await (const piece of backup.pieces) pieces.push(piece);
  await backup.close();
  return Buffer.concat(pieces);
}

export async function* inPieces(bytes: Buffer, pieceBytes = bytes.length): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    yield bytes.subarray(at, at + pieceBytes);
    await Promise.resolve();
  }
}

export interface ReadBackup {
  readonly manifest: BackupManifest;
  /** Keys of each table, by `file table`. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  readonly files: Readonly<Record<string, string>>;
}

/** Reads a whole backup and verifies its checksum. */
export async function readBackup(source: AsyncIterable<Buffer>): Promise<ReadBackup> {
  const reader = new BackupReader(source, 'the backup');
  const manifest = await reader.manifest();
  const keys: Record<string, string[]> = {};
  const files: Record<string, string> = {};
  for (const { file, name, rows } of manifest.tables) {
    const found: string[] = (keys[`${file} ${name}`] = []);
    for await (const batch of reader.rows(rows))
      found.push(...batch.map(({ key }) => key.toString('latin1')));
  }
  for (const { name, bytes } of manifest.files) {
    const pieces: Buffer[] = [];
    for await (const piece of reader.bytes(bytes)) pieces.push(Buffer.from(piece));
    files[name] = Buffer.concat(pieces).toString();
  }
  await reader.finish();
  return { manifest, keys, files };
}

/** Replaces the manifest of a backup and recomputes the checksum. */
export function withManifest(bytes: Buffer, change: (manifest: BackupManifest) => object): Buffer {
  const length = bytes.readUInt32BE(20);
  const manifest = JSON.parse(bytes.toString('utf8', 24, 24 + length)) as BackupManifest;
  const body = bytes.subarray(24 + length, -backupDigestBytes);
  return signed(Buffer.concat([encodeBackupHead(change(manifest) as BackupManifest), body]));
}

export function signed(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, createHash('sha256').update(bytes).digest()]);
}
