/** The backup format, byte by byte. Source: docs/adr/0026. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storeFormat, StoreOpenError } from '../../../../src/storage/lmdb/store-format.ts';
import {
  backupOf,
  filesBeside,
  filledStore,
  inPieces,
  readBackup,
  signed,
  withManifest,
} from '../../../support/backup-scene.ts';

function saying(sentence: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof StoreOpenError && sentence.test(error.message);
}

test('a backup has all rows of the store and the files of tokens, keys and the audit log, for any piece size', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const whole = await readBackup(inPieces(bytes));
  assert.deepEqual(whole.keys['registry devices'], ['DOOR-1', 'DOOR-2', 'DOOR-3']);
  assert.equal(whole.keys['state events']?.length, 2);
  assert.deepEqual(whole.files, filesBeside);
  assert.equal(whole.manifest.store_format, storeFormat);
  assert.equal(whole.manifest.at, '2026-11-23T22:00:00.000Z');
  for (const pieceBytes of [1, 2, 7, 100, 4096])
    assert.deepEqual(await readBackup(inPieces(bytes, pieceBytes)), whole, `${pieceBytes} bytes a piece`);
});

test('a backup has the documented bytes', async () => {
  const manifest = {
    release: '1.0.0',
    store_format: 2,
    at: '2026-11-23T22:00:00.000Z',
    tables: [{ file: 'state', name: 'events', rows: 2 }],
    files: [{ name: 'ops.token', bytes: 3 }],
  };
  const json = JSON.stringify(manifest);
  const length = json.length.toString(16).padStart(8, '0');
  const head = Buffer.from('reveille backup\n');
  const numbers = Buffer.from(`00000001${length}`, 'hex');
  const rows = Buffer.from('0001000000026b76310002000000006b6b', 'hex');
  const bytes = signed(Buffer.concat([head, numbers, Buffer.from(json), rows, Buffer.from('abc')]));
  const read = await readBackup(inPieces(bytes));
  assert.deepEqual(read.manifest, manifest);
  assert.deepEqual(read.keys, { 'state events': ['k', 'kk'] });
  assert.deepEqual(read.files, { 'ops.token': 'abc' });
});

test('a backup truncated at any byte is rejected', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  assert.ok(bytes.length > 2000);
  for (let length = 0; length < bytes.length; length++)
    await assert.rejects(
      readBackup(inPieces(bytes.subarray(0, length))),
      saying(/is cut short/),
      `${length}`,
    );
});

test('a backup with any byte changed is rejected', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = Number(changed[at]) ^ (1 << (at % 8));
    await assert.rejects(readBackup(inPieces(changed)), StoreOpenError, `byte ${at}`);
  }
});

test('data after the checksum is rejected', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const longer = Buffer.concat([bytes, Buffer.from('x')]);
  await assert.rejects(readBackup(inPieces(longer)), saying(/is damaged \(it has data after its end\)/));
});

test('a foreign file is not a backup, and one of a later release is named as such', async (t) => {
  await assert.rejects(
    readBackup(inPieces(Buffer.from('{"applications": []}, and more of it'))),
    saying(/^the backup is not a backup of Reveille/),
  );
  const bytes = await backupOf((await filledStore(t)).directory);
  const later = Buffer.from(bytes);
  later.writeUInt32BE(2, 16);
  await assert.rejects(readBackup(inPieces(later)), saying(/has version 2 .* this release reads version 1/));
});

test('a manifest names tables and files of a data directory, each once, and nothing else', async (t) => {
  const bytes = await backupOf((await filledStore(t)).directory);
  const refused: [string, (manifest: { files: object[]; tables: object[] }) => object][] = [
    ['a path', (manifest) => ({ ...manifest, files: [{ name: '../ops.token', bytes: 0 }] })],
    ['another file', (manifest) => ({ ...manifest, files: [{ name: 'runtime.json', bytes: 0 }] })],
    ['a name twice', (manifest) => ({ ...manifest, files: [...manifest.files, ...manifest.files] })],
    ['another store file', (manifest) => ({ ...manifest, tables: [{ file: 'x', name: 'y', rows: 0 }] })],
    ['half a row', (manifest) => ({ ...manifest, tables: [{ file: 'state', name: 'y', rows: 0.5 }] })],
    ['no list', (manifest) => ({ ...manifest, tables: 3 })],
  ];
  for (const [what, change] of refused)
    await assert.rejects(
      readBackup(inPieces(withManifest(bytes, change))),
      saying(/is damaged \(its manifest/),
      what,
    );
});
