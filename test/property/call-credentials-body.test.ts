/** Properties of requests for call credentials with any body: each is answered, and the answer repeats nothing of the body. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { decodeCallBody, callBody, callBodyFields } from '../support/call-bodies.ts';
import { apiContract } from '../support/openapi.ts';

const planted = 'planted secret';

const word = fc.constantFrom(
  'h264',
  'h265',
  'mjpeg',
  'none',
  'auto',
  'fit_screen',
  'fill_screen',
  'alaw',
  'opus',
);
const number = fc.oneof(fc.constantFrom(0, 1, 2, 30, 600, 4096, 8000, 16_000), fc.integer(), fc.double());
const text = fc.oneof(
  fc.constantFrom('', planted, '\ud800', 'é'.repeat(128)),
  fc.string({ unit: 'binary', maxLength: 1100 }),
);
const value = fc.oneof(word, number, text, fc.boolean(), fc.constant(null), fc.jsonValue({ maxDepth: 2 }));

/** Changes to a valid body: fields replaced or omitted, and extra fields. */
const changes = fc.dictionary(
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...callBodyFields) }, fc.string()),
  fc.option(
    value.map((given) => JSON.stringify(given)),
    { nil: undefined },
  ),
  { maxKeys: 6 },
);

/** Plausible values only; such bodies are often accepted. */
const plausible = fc.record(
  {
    msg_payload: fc.string(),
    calling_timeout_sec: fc.oneof(
      fc.integer({ min: -1, max: 3601 }),
      fc.double({ min: -1, max: 3602, noNaN: true }),
    ),
    no_video: fc.boolean(),
    video_mt: fc.constantFrom('h264', 'mjpeg', 'none', ''),
    up_video_mt: fc.constantFrom('h264', 'h265', 'mjpeg', 'none', null),
    down_video_mt: fc.constantFrom('h264', 'mjpeg', 'none', ''),
    down_video_rotation: fc.constantFrom(0, 1, 2, null, ''),
    screen_width: fc.oneof(fc.integer({ min: 1, max: 16_385 }), fc.constant('')),
    screen_height: fc.oneof(fc.integer({ min: 1, max: 16_385 }), fc.constant(null)),
    video_res_mode: fc.constantFrom('auto', 'fit_screen', 'fill_screen', null),
    down_audio_mt: fc.constantFrom('alaw', 'amr', 'opus', ''),
    audio_rate: fc.constantFrom(8000, 16_000),
  },
  { requiredKeys: [] },
);
const plausibleChanges = plausible.map((fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, given]) => [name, JSON.stringify(given)])),
);

const isDocumented = apiContract.compile({ $ref: '#/components/schemas/CallCredentialsRequest' });

test('a body is accepted, documented and consistent, or the answer names a field and never repeats its value', () => {
  const named = new RegExp(`^(?:${callBodyFields.join('|')}|body:) `);
  let taken = 0;
  fc.assert(
    fc.property(fc.oneof(changes, plausibleChanges), (fields) => {
      const body = callBody(fields);
      const decoded = decodeCallBody(body, 'allow', () => null);
      if (!decoded.ok) {
        assert.match(decoded.error, named);
        return assert.equal(decoded.error.includes(planted), false);
      }
      taken += 1;
      assert.ok(isDocumented(JSON.parse(body.toString())), body.toString());
      const { noVideo, upVideo, downVideo, screen, resolution } = decoded.value.media;
      assert.equal(noVideo, upVideo === 'none' && downVideo === 'none');
      if (noVideo) assert.equal(screen, null);
      if (resolution !== 'auto') assert.deepEqual([downVideo, screen === null], ['mjpeg', false]);
      if (resolution === 'fill_screen')
        assert.deepEqual([Number(screen?.width) % 2, Number(screen?.height) % 2], [0, 0]);
    }),
    { numRuns: 3000 },
  );
  assert.ok(taken > 200, `${taken} bodies were taken`);
});
