/**
 * Backups mutated and cut at random. The reader refuses each with a sentence, or reads everything that was written. The canary
 * is a reader without the checksum, which the fuzzer has to catch.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backupDigestBytes } from '../../src/storage/backup/backup-format.ts';
import { StoreOpenError } from '../../src/storage/lmdb/store-format.ts';
import { backupOf, filledStore, inPieces, readBackup, signed } from '../support/backup-scene.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_123);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 3000);

/** One to four faults: a byte changed, a span removed, doubled, or overwritten with zeros or ones. */
function broken(bytes: Buffer, chance: Chance): Buffer {
  let result = Buffer.from(bytes);
  for (let breaks = 1 + chance.below(4); breaks > 0; breaks--) {
    const at = chance.below(result.length);
    const to = Math.min(result.length, at + 1 + chance.below(16));
    const [before, span, after] = [result.subarray(0, at), result.subarray(at, to), result.subarray(to)];
    const pieces = [
      [before, Buffer.from([chance.below(256)]), result.subarray(at + 1)],
      [before, after],
      [before, span, span, after],
      [before, Buffer.alloc(span.length, chance.below(2) * 255), after],
    ][chance.below(4)];
    result = Buffer.concat(pieces ?? []);
  }
  return result;
}

/** Null: the backup was read to its end. */
async function refusalOf(bytes: Buffer, pieceBytes: number): Promise<StoreOpenError | null> {
  try {
    await readBackup(inPieces(bytes, pieceBytes));
    return null;
  } catch (error) {
    assert.ok(error instanceof StoreOpenError, (error as Error).stack);
    return error;
  }
}

test(`a damaged backup is refused with a sentence (seed ${seed})`, async (t) => {
  const chance = chanceFrom(seed);
  const bytes = await backupOf((await filledStore(t)).directory);
  for (let round = 0; round < rounds; round++) {
    const changed = broken(bytes, chance);
    const refusal = await refusalOf(changed, 1 + chance.below(4096));
    assert.ok(refusal !== null || changed.equals(bytes), `round ${round}`);
  }
});

test('a forged checksum passes only whole backups, and the fuzzer catches the reader without a checksum', async (t) => {
  const chance = chanceFrom(seed + 1);
  const bytes = await backupOf((await filledStore(t)).directory);
  const body = bytes.subarray(0, -backupDigestBytes);
  let accepted = 0;
  for (let round = 0; round < rounds; round++)
    if ((await refusalOf(signed(broken(body, chance)), 1 + chance.below(4096))) === null) accepted += 1;
  assert.ok(accepted > 0, 'without a checksum nothing would pass, too');
});
