/** The measures themselves: they agree with FFmpeg's, accept correct pictures and detect faulty ones. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runTool } from '../support/debian-tools.ts';
import { planeNames, type PlaneName, type Planes } from '../support/planes.ts';
import { planeSimilarity } from '../support/ssim.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { ofLandscape } from './expectations.ts';
import { FilmLibrary } from './films.ts';
import { decoderComplaints, structureComplaints } from './jpeg-complaints.ts';
import { judgePictures, type Judgement } from './judgement.ts';
import { ourPictures } from './our-pictures.ts';
import { decodeJpegs, referencePlanes, type Expectation } from './reference.ts';
import { makeSource } from './sources.ts';
import { standInPictures } from './stand-in.ts';

const directory = temporaryDirectory({ after });
const kv = new FilmLibrary(directory);
const landscape = { film: 'photographs', format: 'h264', width: 640, height: 480, isTagged: true } as const;
const bt601 = await makeSource(directory, kv, landscape);
const quarter = ofLandscape[1] as Expectation;
const reference = (await referencePlanes(directory, bt601, [quarter]))[0] ?? [];
const ours = (await ourPictures(bt601, [quarter]))[0] ?? [];
const [jpeg = new Uint8Array()] = ours;

async function judge(pictures: Promise<Planes[]>): Promise<Judgement> {
  return judgePictures(await pictures, reference);
}

test('pictures that FFmpeg makes of the same frames pass', async () => {
  assert.deepEqual((await judge(standInPictures(bt601, quarter))).complaints, []);
});

test('the wrong range is detected in every plane', async (t) => {
  const { complaints } = await judge(standInPictures(bt601, quarter, { range: 'pc', matrix: 'bt601' }));
  t.diagnostic(complaints.join('; '));
  for (const name of planeNames)
    assert.ok(
      complaints.some((complaint) => complaint.startsWith(`${name} gain`)),
      name,
    );
});

test('BT.709 interpreted as BT.601 is detected by its colours', async (t) => {
  const recipe = { ...landscape, matrix: 'bt709' } as const;
  const bt709 = await makeSource(temporaryDirectory(t), kv, recipe);
  const right = (await referencePlanes(directory, bt709, [quarter]))[0] ?? [];
  const wrong = await standInPictures(bt709, quarter, { range: 'tv', matrix: 'bt601' });

  const { complaints } = judgePictures(wrong, right);
  t.diagnostic(complaints.join('; '));
  assert.ok(complaints.some((complaint) => complaint.startsWith('V gain')));
});

test('pictures shifted by two pixels of the source are detected', async (t) => {
  const crop = { ...quarter.crop, x: 2, width: quarter.crop.width - 2 };
  const { complaints } = await judge(standInPictures(bt601, { ...quarter, crop }));
  t.diagnostic(complaints.join('; '));
  assert.ok(complaints.some((complaint) => complaint.startsWith('Y similarity')));
});

test('a missing picture is detected', async () => {
  assert.equal((await judge(decodeJpegs(ours.slice(1), quarter.output))).complaints.length, 1);
});

test('our own pictures of quality 10 are detected', async (t) => {
  const [poor = []] = await ourPictures(bt601, [quarter], 10);
  const { complaints } = await judge(decodeJpegs(poor, quarter.output));
  t.diagnostic(complaints.join('; '));
  assert.ok(complaints.some((complaint) => complaint.startsWith('Y similarity')));
});

for (const [what, args, found] of [
  ['a progressive JPEG', ['-progressive', '-sample', '2x2'], 'frame header c2'],
  ['a JPEG with every colour', ['-sample', '1x1'], 'sampling 1x1 1x1 1x1'],
  ['a JPEG without colours', ['-grayscale'], 'sampling 1x1'],
] as const)
  test(`${what} is detected by its headers, and by ffprobe`, async () => {
    const other = await runTool('cjpeg', args, await runTool('djpeg', ['-pnm'], jpeg));
    assert.deepEqual(structureComplaints(other, quarter.output), [found]);
    assert.equal((await decoderComplaints([other], quarter.output)).length, 1);
  });

test('a JPEG of another size is detected by its headers, by ffprobe and by djpeg', async () => {
  const size = { width: 320, height: 238 };
  assert.deepEqual(structureComplaints(jpeg, size), ['320x240']);
  assert.equal((await decoderComplaints([jpeg], size)).length, 2);
});

test('a truncated JPEG is detected', async () => {
  const cut = jpeg.subarray(0, jpeg.length / 2);
  assert.deepEqual(structureComplaints(cut, quarter.output), ['no end']);
  await assert.rejects(decoderComplaints([cut], quarter.output));
});

test('similarity is what FFmpeg measures', async () => {
  const pictures = await decodeJpegs(ours, quarter.output);
  const files = ([pictures, reference] as const).map((planes, index) => {
    const path = join(directory, `similarity-${index}.yuv`);
    const samples = planes.flatMap((picture) => planeNames.map((name) => picture[name].samples));
    writeFileSync(path, Buffer.concat(samples));
    return ['-f', 'rawvideo', '-pix_fmt', 'yuvj420p', '-s', '320x240', '-i', path];
  });
  const filter = ['-lavfi', 'ssim=stats_file=-', '-f', 'null', '/dev/null'];
  const said = await runTool('ffmpeg', ['-nostdin', '-v', 'error', ...files.flat(), ...filter]);
  const lines = said.toString().trim().split('\n');

  assert.equal(lines.length, pictures.length);
  for (const [index, line] of lines.entries())
    for (const [, name, value] of line.matchAll(/([YUV]):([\d.]+)/g)) {
      const [one, other] = [pictures[index], reference[index]].map((picture) => picture?.[name as PlaneName]);
      assert.ok(one !== undefined && other !== undefined);
      const difference = Math.abs(planeSimilarity(one, other) - Number(value));
      // FFmpeg's constant that stabilises the means is a 64th of the paper's, which shows in dark pictures.
      assert.ok(difference < 0.002, `${line}: ${name} differs by ${difference}`);
    }
});
