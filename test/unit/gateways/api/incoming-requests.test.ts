import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '../../../../src/gateways/api/api-request.ts';
import { IncomingRequests } from '../../../../src/gateways/api/incoming-requests.ts';
import { bodyBytesMax, heldBytesMax, heldRequestsMax } from '../../../../src/model/limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeResponse, fakeRequest } from '../../../support/fake-http.ts';

/** A response to a request whose body the test sends. */
class BodyResponse extends FakeResponse {
  #listener: (chunk: ArrayBuffer, isLast: boolean) => void = () => undefined;

  override onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    super.onData(listener);
    this.#listener = listener;
  }

  send(text: string, isLast: boolean): void {
    this.#listener(new Uint8Array(Buffer.from(text)).buffer, isLast);
  }
}

class HeldScene {
  readonly requests = new IncomingRequests(new DrivenClock());
  /** Handled requests: method, path, query, headers and body. */
  readonly handled: string[] = [];

  ask(path: string, headers: Readonly<Record<string, string>> = {}): BodyResponse {
    const response = new BodyResponse();
    this.requests.handle(response, fakeRequest('POST', path, headers, 'a=1'));
    return response;
  }

  serve(): void {
    this.requests.serve((request) => this.#handle(request));
  }

  #handle(request: ApiRequest): void {
    const { method, path, query, headers } = request;
    const done = (): void => {
      const body = Buffer.from(request.body).toString();
      this.handled.push([`${method} ${path}?${query}`, ...headers.fields, body].join(', '));
      request.identify(false);
      request.answer({ status: 200, body: '{}', closeConnection: false });
    };
    if (headers.get('content-length') === undefined) done();
    else request.readBody(bodyBytesMax, done);
  }
}

test('queued requests are handled in the order of arrival, and later ones at once', () => {
  const scene = new HeldScene();
  const held = [scene.ask('/one', { host: 'api' }), scene.ask('/two')];
  assert.deepEqual(scene.handled, []);
  scene.serve();
  held.push(scene.ask('/three'));
  assert.deepEqual(scene.handled, ['POST /one?a=1, host, api, ', 'POST /two?a=1, ', 'POST /three?a=1, ']);
  for (const response of held) assert.equal(response.body, '{}');
});

test('a body is queued too, and a request with an incomplete body is handled when it is complete', () => {
  const scene = new HeldScene();
  const headers = { 'content-length': '4' };
  const [whole, half] = [scene.ask('/whole', headers), scene.ask('/half', headers)];
  whole.send('ab', false);
  whole.send('cd', true);
  half.send('ef', false);
  scene.serve();
  assert.deepEqual(scene.handled, ['POST /whole?a=1, content-length, 4, abcd']);
  half.send('gh', true);
  assert.equal(scene.handled[1], 'POST /half?a=1, content-length, 4, efgh');
});

test('a request whose caller has hung up is not handled', () => {
  const scene = new HeldScene();
  scene.ask('/gone').hangUp();
  scene.serve();
  assert.deepEqual(scene.handled, []);
});

test('a request beyond the limit is answered 503 with its code, and a hang-up frees a slot', async () => {
  const scene = new HeldScene();
  const first = scene.ask('/0');
  for (let number = 1; number < heldRequestsMax; number++) scene.ask(`/${number}`);
  const beyond = scene.ask('/beyond');
  await beyond.finished;
  assert.deepEqual(
    [beyond.status, beyond.json['code'], beyond.headers.get('retry-after')],
    ['503 Service Unavailable', 50301, '1'],
  );
  first.hangUp();
  scene.ask('/room');
  scene.serve();
  assert.equal(scene.handled.length, heldRequestsMax);
});

test('bodies are queued up to their total length; the next one is answered 503', async () => {
  const scene = new HeldScene();
  const headers = { 'content-length': String(bodyBytesMax) };
  const asked = Array.from({ length: Math.ceil(heldBytesMax / bodyBytesMax) }, (_, number) =>
    scene.ask(`/${number}`, headers),
  );
  await asked.at(-1)?.finished;
  const kept = asked.filter(({ status }) => status === '200 OK');
  assert.ok(kept.length < asked.length && kept.length > asked.length / 2, `${kept.length} are kept`);
  for (const response of kept) response.send('x'.repeat(bodyBytesMax), true);
  scene.serve();
  assert.equal(scene.handled.length, kept.length);
});

test('a body that the headers rule out is left to the handler', () => {
  for (const length of [String(bodyBytesMax + 1), 'abc', '-1']) {
    const scene = new HeldScene();
    scene.ask('/one', { 'content-length': length });
    const seen: string[] = [];
    scene.requests.serve(({ path }) => seen.push(path));
    assert.deepEqual(seen, ['/one'], length);
  }
});
