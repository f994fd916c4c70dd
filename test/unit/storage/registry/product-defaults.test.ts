import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProductId } from '../../../../src/model/ids.ts';
import type { Product } from '../../../../src/model/registry.ts';
import { parseEntry } from '../../../../src/storage/registry/registry-entry.ts';
import { decodeRow, encodeRow, isRow } from '../../../../src/storage/registry/registry-kinds.ts';
import { checkChange } from '../../../../src/storage/registry/mirrored-rows.ts';
import { packPlain } from '../../../../src/lib/plain-msgpack.ts';

const plain: Product = { productId: 'doorbell' as ProductId, appIds: [] };

function parse(defaults: unknown) {
  return parseEntry('product', { product_id: 'doorbell', app_ids: [], defaults });
}

const right = [
  { heartbeat_s: 5 },
  { heartbeat_s: 3600 },
  { sleep: { servers: ['sleep.example:8081', '[2001:db8::1]:81'] } },
  { sleep: { retry: { min_s: 1, max_s: 1, jitter: 0 } } },
  { sleep: { retry: { min_s: 3600, max_s: 86_400, jitter: 1 } } },
  { media: { audio_rate: 8000, audio_channels: 1 } },
];
for (const defaults of right)
  test(`a product may have ${JSON.stringify(defaults)}`, () => {
    assert.deepEqual(parse(defaults), { ok: true, value: { ...plain, defaults } });
  });

for (const nothing of [
  null,
  {},
  { sleep: {} },
  { media: {} },
  { heartbeat_s: null, sleep: { retry: null }, media: null },
])
  test(`${JSON.stringify(nothing)} counts as no defaults`, () => {
    assert.deepEqual(parse(nothing), { ok: true, value: plain });
  });

const servers = Array.from({ length: 9 }, (_, number) => `sleep-${number}.example:8081`);
const wrong: readonly (readonly [unknown, field: string, reason: RegExp])[] = [
  [7, 'defaults', /^must be an object$/],
  [[], 'defaults', /^must be an object$/],
  [{ heartbeats: 5 }, 'defaults.heartbeats', /^is not a field/],
  [{ heartbeat_s: 4 }, 'defaults.heartbeat_s', /^must be a whole number from 5 to 3600$/],
  [{ heartbeat_s: 3601 }, 'defaults.heartbeat_s', /5 to 3600/],
  [{ heartbeat_s: '50' }, 'defaults.heartbeat_s', /5 to 3600/],
  [{ sleep: true }, 'defaults.sleep', /^must be an object$/],
  [{ sleep: { heartbeat_s: 50 } }, 'defaults.sleep.heartbeat_s', /^is not a field/],
  [{ sleep: { servers: [] } }, 'defaults.sleep.servers', /^must be 1-8 addresses/],
  [{ sleep: { servers } }, 'defaults.sleep.servers', /^must be 1-8 addresses/],
  [{ sleep: { servers: ['sleep.example'] } }, 'defaults.sleep.servers.0', /host:port/],
  [{ sleep: { retry: { min_s: 2, max_s: 300 } } }, 'defaults.sleep.retry.jitter', /^is missing$/],
  [
    { sleep: { retry: { min_s: 9, max_s: 8, jitter: 0 } } },
    'defaults.sleep.retry',
    /min_s that is not above/,
  ],
  [{ sleep: { retry: { min_s: 0, max_s: 8, jitter: 0 } } }, 'defaults.sleep.retry.min_s', /from 1 to 3600/],
  [{ sleep: { retry: { min_s: 1, max_s: 86_401, jitter: 0 } } }, 'defaults.sleep.retry.max_s', /to 86400/],
  [{ sleep: { retry: { min_s: 1, max_s: 2, jitter: 1.1 } } }, 'defaults.sleep.retry.jitter', /0 to 1/],
  [{ media: 'mjpeg' }, 'defaults.media', /^must be an object of fields/],
  [{ media: { video_mt: 'h264' } }, 'defaults.media.video_mt', /^is not a field of a media profile$/],
  [{ media: { audio_rate: 44_100 } }, 'defaults.media.audio_rate', /^must be one of 8000, 16000$/],
  [
    { media: { video_res_mode: 'fit_screen', down_video_mt: 'h264' } },
    'defaults.media.video_res_mode',
    /^must be auto unless/,
  ],
];
for (const [defaults, field, reason] of wrong)
  test(`${JSON.stringify(defaults).slice(0, 60)} is rejected with the path of its field`, () => {
    const parsed = parse(defaults);
    assert.ok(!parsed.ok);
    assert.equal(parsed.error.field, field);
    assert.match(parsed.error.reason, reason);
  });

const given: Product = { ...plain, defaults: { heartbeat_s: 120, media: { audio_rate: 8000 } } };

test('the row of a product without defaults has no value for them, and is decoded without', () => {
  assert.deepEqual(encodeRow('product', plain), [[]]);
  assert.deepEqual(decodeRow('product', 'doorbell', [[]]), plain);
  assert.deepEqual(decodeRow('product', 'doorbell', encodeRow('product', given)), given);
  assert.ok(isRow('product', [[]]) && isRow('product', [[], {}]));
  assert.ok(!isRow('product', []) && !isRow('product', [[], {}, 1]) && !isRow('credential', ['a']));
});

function change(row: unknown[]) {
  return checkChange({ kind: 'product', id: 'doorbell', row: packPlain(row) });
}

test('defaults from other nodes are decoded unchanged, also absent ones', () => {
  for (const product of [plain, given]) {
    const row = encodeRow('product', product);
    assert.deepEqual(change([...row]), {
      ok: true,
      value: { kind: 'product', id: 'doorbell', row: packPlain(row) },
    });
  }
});

for (const defaults of [{ heartbeat_s: 1 }, 5, 'x', [[]], { media: { audio_rate: {} } }])
  test(`a row of another node with ${JSON.stringify(defaults)} for defaults is refused`, () => {
    const checked = change([[], defaults]);
    assert.ok(!checked.ok);
    assert.match(checked.error, /^product "doorbell": defaults/);
  });
