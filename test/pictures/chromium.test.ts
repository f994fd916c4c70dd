/** Our pictures in a browser, one by one and as a stream. Source: calls-and-media.md, Legs. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { partsForPeople } from '../../src/media/legs/picture-parts.ts';
import { Chromium } from '../support/chromium.ts';
import { decodeByDjpeg, meanDifference } from '../support/pixel-map.ts';
import { temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { ofLandscape, ofPortrait } from './expectations.ts';
import { FilmLibrary } from './films.ts';
import { ourPictures } from './our-pictures.ts';
import { makeSource, type Recipe } from './sources.ts';

const parts = partsForPeople();
const page = '<!doctype html><title>pictures</title><img src="/pictures">';

class PictureServer {
  readonly origin: string;
  readonly #streams: Promise<ServerResponse>;

  private constructor(origin: string, streams: Promise<ServerResponse>) {
    this.origin = origin;
    this.#streams = streams;
  }

  /** Listens on a free local port; closed when the test ends. */
  static async listen(t: Ending): Promise<PictureServer> {
    const { promise, resolve } = newPromise<ServerResponse>();
    const server = createServer((request, response) => {
      if (request.url !== '/pictures') response.setHeader('Content-Type', 'text/html').end(page);
      else {
        response.writeHead(200, {
          'Content-Type': parts.contentType,
          'Cache-Control': 'no-store',
        });
        response.write(parts.begin);
        resolve(response);
      }
    });
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PictureServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, promise);
  }

  /** Sends to the client that requested the pictures, or will. */
  async show(jpeg: Uint8Array): Promise<void> {
    const stream = await this.#streams;
    for (const part of parts.part(jpeg)) stream.write(part);
  }

  async end(): Promise<void> {
    (await this.#streams).end(parts.end);
  }
}

function newPromise<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((done) => (resolve = done));
  return { promise, resolve };
}

const differenceMax = 3;
const directory = temporaryDirectory({ after });
const kv = new FilmLibrary(directory);
const landscape = { film: 'photographs', format: 'h264', width: 640, height: 480 } as const;
const portrait = { film: 'photographs', format: 'mjpeg', width: 240, height: 320 } as const;
const browser = await Chromium.launch({ after });

/** The last picture of each. */
async function lastPictures(
  recipe: Recipe,
  expectations: typeof ofLandscape,
): Promise<[Uint8Array, ...Uint8Array[]]> {
  const jpegs = await ourPictures(await makeSource(directory, kv, recipe), expectations);
  const [first = new Uint8Array(), ...others] = jpegs.map((pictures) => pictures.at(-1) ?? new Uint8Array());
  return [first, ...others];
}

interface Seen {
  readonly size: string;
  /** Base64 of red, green, blue and opacity of each pixel. */
  readonly pixels: string;
}

/** Reads the pixels that an element shows, in the page. */
const look = `(image) => {
  const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  let pixels = '';
  for (let at = 0; at < data.length; at += 8192)
    pixels += String.fromCharCode(...data.subarray(at, at + 8192));
  return { size: canvas.width + 'x' + canvas.height, pixels: btoa(pixels) };
}`;

async function assertShows(seen: Seen, jpeg: Uint8Array): Promise<void> {
  const { width, height, samples } = await decodeByDjpeg(jpeg);
  assert.equal(seen.size, `${width}x${height}`);
  const opaque = Buffer.from(seen.pixels, 'base64').filter((_, index) => index % 4 !== 3);
  const difference = meanDifference(opaque, samples);
  assert.ok(difference < differenceMax, `it differs from djpeg by ${difference}`);
}

for (const [recipe, expectations] of [
  [landscape, ofLandscape],
  [portrait, ofPortrait],
] as const)
  test(`Chromium shows pictures of ${recipe.format} as djpeg does, in their size`, async () => {
    await browser.open('about:blank');
    for (const jpeg of await lastPictures(recipe, expectations)) {
      const url = `data:image/jpeg;base64,${Buffer.from(jpeg).toString('base64')}`;
      const seen = await browser.evaluate<Seen>(`(async () => {
        const image = new Image();
        image.src = ${JSON.stringify(url)};
        await image.decode();
        return (${look})(image);
      })()`);
      await assertShows(seen, jpeg);
    }
  });

test('Chromium shows each picture of a stream on arrival, whatever its size, and the last one after the stream has ended', async (t) => {
  const server = await PictureServer.listen(t);
  await browser.open(server.origin);

  let last: Uint8Array | null = null;
  for (const jpeg of await lastPictures(landscape, ofLandscape)) {
    await server.show(jpeg);
    const { width } = await decodeByDjpeg(jpeg);
    await browser.until(`document.images[0].naturalWidth === ${width}`);
    await assertShows(await browser.evaluate<Seen>(`(${look})(document.images[0])`), jpeg);
    last = jpeg;
  }
  assert.ok(last !== null);
  await server.end();
  await browser.until(`document.images[0].complete`);
  await assertShows(await browser.evaluate<Seen>(`(${look})(document.images[0])`), last);
  assert.deepEqual(browser.problems, []);
});
