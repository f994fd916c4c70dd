import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeldRequests } from '../../../../src/gateways/api/held-requests.ts';
import type { HttpHandler } from '../../../../src/lib/uws.ts';
import { bodyBytesMax, heldBytesMax, heldRequestsMax } from '../../../../src/model/limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { FakeResponse, fakeRequest } from '../../../support/fake-http.ts';

/** A response whose request has a body that the test sends. */
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
  readonly requests = new HeldRequests(new DrivenClock());
  /** Requests that were handled: method, path, query, headers and body. */
  readonly handled: string[] = [];

  ask(path: string, headers: Readonly<Record<string, string>> = {}): BodyResponse {
    const response = new BodyResponse();
    this.requests.handle(response, fakeRequest('POST', path, headers, 'a=1'));
    return response;
  }

  serve(): void {
    this.requests.release(this.#handle);
  }

  readonly #handle: HttpHandler = (response, request) => {
    const head = `${request.getCaseSensitiveMethod()} ${request.getUrl()}?${request.getQuery()}`;
    const headers: string[] = [];
    request.forEach((name, value) => headers.push(`${name}: ${value}`));
    const done = (body: string): void => {
      this.handled.push([head, ...headers, body].join(', '));
      response.end('{}', false);
    };
    if (!headers.some((line) => line.startsWith('content-length'))) return done('');
    let body = '';
    response.onData((chunk, isLast) => {
      body += Buffer.from(chunk).toString();
      if (isLast) done(body);
    });
  };
}

test('held requests are handled as they came, in their order, and later ones at once', () => {
  const scene = new HeldScene();
  const held = [scene.ask('/one', { host: 'api' }), scene.ask('/two')];
  assert.deepEqual(scene.handled, []);
  scene.serve();
  held.push(scene.ask('/three'));
  assert.deepEqual(scene.handled, ['POST /one?a=1, host: api, ', 'POST /two?a=1, ', 'POST /three?a=1, ']);
  for (const response of held) assert.equal(response.body, '{}');
});

test('a body is held, too, and a request whose body is still coming is handled when that is whole', () => {
  const scene = new HeldScene();
  const headers = { 'content-length': '4' };
  const [whole, half] = [scene.ask('/whole', headers), scene.ask('/half', headers)];
  whole.send('ab', false);
  whole.send('cd', true);
  half.send('ef', false);
  scene.serve();
  assert.deepEqual(scene.handled, ['POST /whole?a=1, content-length: 4, abcd']);
  half.send('gh', true);
  assert.equal(scene.handled[1], 'POST /half?a=1, content-length: 4, efgh');
});

test('a request whose caller has hung up is not handled', () => {
  const scene = new HeldScene();
  scene.ask('/gone').hangUp();
  scene.serve();
  assert.deepEqual(scene.handled, []);
});

test('a request beyond the limit is answered 503 with its code, and one that hangs up makes room', async () => {
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

test('bodies beyond the limit close their connections', () => {
  const scene = new HeldScene();
  const body = 'x'.repeat(bodyBytesMax);
  const asked = Array.from({ length: Math.ceil(heldBytesMax / bodyBytesMax) }, (_, number) =>
    scene.ask(`/${number}`, { 'content-length': String(bodyBytesMax) }),
  );
  for (const response of asked) if (!response.closed) response.send(body, true);
  const kept = asked.filter(({ closed }) => !closed);
  assert.ok(kept.length < asked.length && kept.length > asked.length / 2, `${kept.length} are kept`);
  scene.serve();
  assert.equal(scene.handled.length, kept.length);
});

test('a body that its headers forbid is left to the handler', () => {
  for (const length of [String(bodyBytesMax + 1), 'abc', '-1']) {
    const scene = new HeldScene();
    scene.ask('/one', { 'content-length': length });
    const seen: string[] = [];
    scene.requests.release((_response, request) => seen.push(request.getUrl()));
    assert.deepEqual(seen, ['/one'], length);
  }
});
