import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stretch } from '../../../../src/media/sound/stretch.ts';
import { channelOf, findTone, sine } from '../../../support/sines.ts';

for (const change of [1, -1])
  test(`a tone continues through a packet ${change > 0 ? 'with a sample more' : 'with one fewer'}, in each channel`, () => {
    const packet = sine({ rate: 8000, chords: [[400], [800]] }, 0, 20);

    const stretched = stretch(packet, 2, 160 + change);

    assert.equal(stretched.length, (160 + change) * 2);
    for (const [channel, tone] of [400, 800].entries()) {
      const scaled = (tone * 160) / (160 + change);
      const { level, snr } = findTone(channelOf(stretched, channel, 2), 8000, scaled);
      assert.ok(Math.abs(level - 0.25) < 0.003 && snr > 35, `${level} ${snr}`);
    }
  });

test('the loudest samples stay loudest: the cubic through them exceeds sixteen bits', () => {
  const loud = Int16Array.from({ length: 160 }, (_, at) => (at % 40 < 20 ? 32_767 : -32_768));
  const stretched = stretch(loud, 1, 161);
  for (const [at, sample] of stretched.entries()) {
    const whole = Math.floor((at * 160) / 161);
    if (loud[whole] === loud[whole + 1]) assert.equal(sample, loud[whole]);
  }
});
