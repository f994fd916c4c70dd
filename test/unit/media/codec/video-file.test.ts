import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEngine, type Engine } from '../../../../src/media/codec/engine.ts';
import { liveNatives } from '../../../../src/media/codec/native-census.ts';
import { VideoFile } from '../../../../src/media/codec/video-file.ts';
import { encodeFilm } from '../../../support/coded-frames.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const opened = await openEngine();
const skip = opened.ok ? false : opened.error;
const size = { width: 64, height: 48 };

function engine(): Engine {
  assert.ok(opened.ok);
  return opened.value;
}

/** Pictures of one colour each, dark to bright; V is 200 in the right half. */
function plainPicture(level: number): Uint8Array<ArrayBuffer> {
  const { width, height } = size;
  const picture = new Uint8Array((width * height * 3) / 2).fill(128);
  picture.fill(level, 0, width * height);
  for (let row = 0; row < height / 2; row += 1) {
    const v = width * height * 1.25 + (row * width) / 2;
    picture.fill(200, v + width / 4, v + width / 2);
  }
  return picture;
}

const levels = [40, 80, 120, 160, 200];

/** Raw H.264, which has no timestamps: 25 frames a second. */
function writeFilm(t: Ending, pictures: readonly number[] = levels): string {
  const units = encodeFilm(engine(), size, pictures.map(plainPicture));
  const path = join(temporaryDirectory(t), 'film.h264');
  writeFileSync(path, Buffer.concat(units.map(({ payload }) => payload)));
  return path;
}

function play(path: string): VideoFile {
  const film = VideoFile.open(engine(), path);
  assert.ok(film.ok, film.ok ? '' : film.error);
  return film.value;
}

/** Index of the level in `levels` that a picture shows. */
function shown(picture: Uint8Array): number {
  const level = picture[0] ?? 0;
  const index = levels.findIndex((known) => Math.abs(known - level) < 12);
  assert.notEqual(index, -1, `level ${level}`);
  return index;
}

test('each picture lasts until the next one is due, and after the last the film restarts', { skip }, (t) => {
  const film = play(writeFilm(t));
  assert.equal(film.framesPerSecond, 25);
  const moments = [0, 39, 40, 79.9, 160, 199, 200, 239, 240, 400, 1000, 1041];
  assert.deepEqual(
    moments.map((atMs) => shown(film.pictureAt(atMs, size))),
    [0, 0, 1, 1, 4, 4, 0, 0, 1, 0, 0, 1],
  );
  film.close();
});

test('a moment that is skipped costs no picture that is due', { skip }, (t) => {
  const film = play(writeFilm(t));
  assert.deepEqual(
    [0, 125, 2565].map((atMs) => shown(film.pictureAt(atMs, size))),
    [0, 3, 4],
  );
  film.close();
});

test('a picture has the requested size, cropped from the middle, in limited range', { skip }, (t) => {
  const film = play(writeFilm(t));
  const wide = film.pictureAt(0, { width: 32, height: 8 });
  assert.equal(wide.length, 32 * 8 * 1.5);
  const v = wide.subarray(32 * 8 * 1.25);
  assert.ok(Math.abs((v[2] ?? 0) - 128) < 8 && Math.abs((v[13] ?? 0) - 200) < 8, 'both halves are there');
  const tall = film.pictureAt(0, { width: 16, height: 96 });
  assert.equal(tall.length, 16 * 96 * 1.5);
  assert.ok(
    tall.subarray(0, 16 * 96).every((level) => Math.abs(level - 40) < 8),
    'as dark as it was',
  );
  film.close();
});

test('a film of one picture shows it forever', { skip }, (t) => {
  const film = play(writeFilm(t, [120]));
  assert.deepEqual(
    [0, 40, 5000].map((atMs) => shown(film.pictureAt(atMs, size))),
    [2, 2, 2],
  );
  film.close();
});

test('a film that was deleted before it restarts keeps its last picture', { skip }, (t) => {
  const path = writeFilm(t);
  const film = play(path);
  writeFileSync(path, 'no film any more');
  assert.equal(shown(film.pictureAt(10_000, size)), 4);
  film.close();
});

test('a file that is not a video is rejected with a sentence that names it', { skip }, (t) => {
  const text = join(temporaryDirectory(t), 'letter.txt');
  writeFileSync(text, 'Dear Sir or Madam');
  for (const path of [text, '/nonexistent/film.mp4', 'https://media.example/film.mp4']) {
    const film = VideoFile.open(engine(), path);
    assert.ok(!film.ok && film.error.startsWith(`${path} cannot be played: `), path);
  }
});

test('played and closed films leave no native object', { skip }, (t) => {
  const path = writeFilm(t);
  const before = liveNatives();
  for (let round = 0; round < 3; round += 1) {
    const film = play(path);
    for (let atMs = 0; atMs < 1000; atMs += 40)
      film.pictureAt(atMs, { width: 32 + 2 * (atMs % 3), height: 32 });
    film.close();
    VideoFile.open(engine(), '/nonexistent/film.mp4');
  }
  assert.deepEqual(liveNatives(), before);
});
