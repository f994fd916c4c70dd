import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Script } from 'node:vm';
import { mediaFrameResults } from '../../../../src/model/media/picture.ts';
import { watchPage } from '../../../../src/gateways/watch/watch-page.ts';
import { watchScript } from '../../../../src/gateways/watch/watch-script.ts';
import { audioOnlyMedia, callMedia, callSession } from '../../../support/call-scene.ts';

function pageOf(media = callMedia): string {
  return watchPage(callSession({ media }), 'the-key', 'the-nonce').text;
}

test('every result of a frame has its row, and is shown once it has happened', () => {
  const rows = [...pageOf().matchAll(/<tr class="(sent|spared|drop)" data-result="(\w+)" hidden>/g)];
  assert.deepEqual(
    rows.map(([, , result]) => result),
    [...mediaFrameResults],
  );
  const dropped = new Set(rows.filter(([, kind]) => kind === 'drop').map(([, , result]) => result));
  for (const result of ['undecodable', 'no_key_frame', 'slow_leg', 'unsupported'])
    assert.ok(dropped.has(result), result);
});

test('the script is a script, closes no element, and has a place for each figure that it names', () => {
  assert.ok(new Script(watchScript) instanceof Script);
  assert.ok(!watchScript.includes('</'));
  const page = pageOf();
  const names = [...watchScript.matchAll(/\b(?:show|showLeg|showTimes|placeOf)\('(\w+)'/g)].map(
    ([, name = '']) => name,
  );
  assert.ok(names.length > 8);
  for (const name of names) assert.ok(page.includes(`data-show="${name}"`), name);
  for (const [, figure = ''] of watchScript.matchAll(/show\(name \+ '( \w+)'/g))
    for (const stream of ['source', 'output'])
      assert.ok(page.includes(`data-show="${stream}${figure}"`), figure);
});

test('a screen is drawn in whole pixels as large as there is room, a larger one in parts of them', () => {
  const ruleFor = (width: number, height: number): string | undefined =>
    /\.screen \{ (width: [^}]*) \}/.exec(pageOf({ ...callMedia, screen: { width, height } }))?.[1];
  assert.equal(ruleFor(160, 100), 'width: 160px; height: 100px; zoom: 3;');
  assert.equal(ruleFor(240, 320), 'width: 240px; height: 320px; zoom: 1;');
  assert.equal(ruleFor(1000, 480), 'width: 1000px; height: 480px; zoom: 0.500;');
});

test('pictures are described to who does not see them, and a call without video has none but its sound', () => {
  const images = pageOf().match(/<img[^>]*>/g) ?? [];
  assert.equal(images.length, 2);
  for (const image of images) assert.match(image, /alt="[^"]{10,}"/);
  const drawn = pageOf().match(/<(?:video|canvas)[^>]*>/g) ?? [];
  assert.equal(drawn.length, 4);
  for (const element of drawn) assert.match(element, /aria-label="[^"]{10,}"/);
  const audioOnly = pageOf(audioOnlyMedia);
  assert.ok(!/<img|<video|<canvas/.test(audioOnly));
  assert.match(audioOnly, /audio only/);
  for (const page of [pageOf(), audioOnly])
    assert.match(page, /<button type="button" data-sound aria-pressed="false"/);
});
