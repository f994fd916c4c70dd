import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packPlain, unpackPlain } from '../../../../src/lib/plain-msgpack.ts';
import { decodeOutboxItem, encodeOutboxItem } from '../../../../src/storage/journal/outbox-rows.ts';
import { outboxItems } from '../../../support/outbox-items.ts';
import { chanceFrom } from '../../../support/seeded-random.ts';

for (const [at, item] of outboxItems().entries())
  test(`item ${at}, a ${item.kind}, is decoded unchanged`, () => {
    assert.deepEqual(decodeOutboxItem(encodeOutboxItem(item)), { ok: true, value: item });
  });

test('an item with an event of another device is rejected', () => {
  const items = outboxItems();
  const [, , event] = items;
  assert.ok(event?.kind === 'event');
  const row = unpackPlain(encodeOutboxItem(event)) as unknown[];
  row[1] = 'another device';
  assert.deepEqual(decodeOutboxItem(packPlain(row)), { ok: false, error: 'has an event of another device' });
});

test('an item with an additional, a missing or a mistyped field is rejected', () => {
  for (const item of outboxItems()) {
    const row = unpackPlain(encodeOutboxItem(item)) as unknown[];
    assert.ok(decodeOutboxItem(packPlain(row)).ok);
    assert.equal(decodeOutboxItem(packPlain([...row, 1])).ok, false);
    assert.equal(decodeOutboxItem(packPlain(row.slice(0, -1))).ok, false);
    for (const [at] of row.entries())
      assert.equal(
        decodeOutboxItem(packPlain(row.with(at, row[at] === true || row[at] === false ? 1 : true))).ok,
        false,
        `${item.kind}, field ${at}`,
      );
  }
});

test('broken bytes are rejected, or decode to an item that encodes to the same bytes; decoding never throws', () => {
  const chance = chanceFrom(6);
  let [refused, taken] = [0, 0];
  for (let round = 0; round < 20_000; round++) {
    const items = outboxItems();
    const item = items[chance.below(items.length)];
    assert.ok(item !== undefined);
    const bytes = encodeOutboxItem(item);
    const cut = Buffer.from(
      bytes.subarray(0, chance.next() < 0.2 ? chance.below(bytes.length) : bytes.length),
    );
    for (let flips = chance.below(3) + 1; flips > 0 && cut.length > 0; flips--)
      cut[chance.below(cut.length)] = chance.below(256);
    const decoded = decodeOutboxItem(cut);
    if (!decoded.ok) refused += 1;
    else {
      taken += 1;
      assert.deepEqual(decodeOutboxItem(encodeOutboxItem(decoded.value)), decoded);
    }
  }
  assert.ok(refused > 1000 && taken > 100, `${refused} refused, ${taken} taken`);
});
