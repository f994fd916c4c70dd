import assert from 'node:assert/strict';
import { test } from 'node:test';
import { succeed } from '../../../../src/lib/result.ts';
import { codeTexts, refusal } from '../../../../src/model/codes.ts';
import type { ApiServices } from '../../../../src/gateways/api/api-services.ts';
import { Authenticator } from '../../../../src/gateways/api/authenticator.ts';
import { Dispatcher } from '../../../../src/gateways/api/dispatcher.ts';
import { IncomingRequests } from '../../../../src/gateways/api/incoming-requests.ts';
import { Pipeline } from '../../../../src/gateways/api/pipeline.ts';
import { coded, refuse, type Call, type Reply, type Route } from '../../../../src/gateways/api/route.ts';
import { RequestLog, type LoggedRequests } from '../../../../src/core/requests/request-log.ts';
import { ApplicationLimit } from '../../../../src/core/devices/request-limits.ts';
import { SigningKeyCache } from '../../../../src/protocol/tgv1/signature.ts';
import { signRequest } from '../../../../src/protocol/tgv1/sign-request.ts';
import { inlineVerifier } from '../../../../src/gateways/verification/late-verifier.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { anyConnections, FakeResponse, fakeRequest } from '../../../support/fake-http.ts';
import { FakeLog, FakeRegistry, FakeTelemetry } from '../../../support/fakes.ts';
import { demoCredential } from '../../../support/signed-requests.ts';

const path = '/v1/device/wakeup-request';
const callersId = 'ring-1';
const done: Reply = { code: 0, message: codeTexts[0], data: null };

function route(overrides: Partial<Route>): Route {
  return {
    name: 'test',
    method: 'GET',
    path,
    permission: 'wakeup:write',
    limit: null,
    ...coded,
    parse: () => succeed(null),
    handle: () => done,
    ...overrides,
  };
}

class Scene {
  readonly clock = new DrivenClock();
  readonly registry = new FakeRegistry();
  readonly telemetry = new FakeTelemetry();
  readonly log = new FakeLog();
  readonly requests: IncomingRequests;
  readonly services = {
    limits: { queries: new ApplicationLimit(this.clock, { perSecond: 0.4, burst: 1 }) },
  } as unknown as ApiServices;

  constructor(...routes: Route[]) {
    this.requests = this.logging('refused', routes);
  }

  /** The same scene with another setting of `log.requests`. */
  logging(logged: LoggedRequests, routes: readonly Route[]): IncomingRequests {
    const { clock, registry, telemetry, log } = this;
    registry.credentials.set(demoCredential.accessKeyId, demoCredential);
    const authenticator = new Authenticator(
      { clock, registry, log, signingKeys: new SigningKeyCache(10), verifier: inlineVerifier },
      { windowMs: 300_000, explainMismatch: false },
    );
    const requestLog = new RequestLog(logged, clock, log);
    const pipeline = new Pipeline({
      log,
      authenticator,
      connections: anyConnections(),
      routes,
      rules: { mixedFormats: 'allow', secretRules: { allowShortSecrets: false } },
      dispatcher: new Dispatcher({ clock, registry, telemetry, log, requestLog, services: this.services }),
      isDraining: () => false,
    });
    const requests = new IncomingRequests(clock);
    requests.serve(pipeline.handle);
    return requests;
  }

  /** Signed, without a body. */
  send(
    method: string,
    headers: Record<string, string> = {},
    { requests = this.requests, at = path }: { requests?: IncomingRequests; at?: string } = {},
  ): FakeResponse {
    const signed = signRequest({
      credential: demoCredential,
      method,
      path: at,
      rawQuery: '',
      body: null,
      headerSet: 'short',
      atMs: this.clock.wallMs(),
    });
    const response = new FakeResponse();
    requests.handle(response, fakeRequest(method, at, { ...signed, ...headers }));
    return response;
  }
}

/** The wakeup path: a POST whose caller chooses the request id, and a GET whose caller does not. */
function wakeupPath(): Scene {
  return new Scene(
    route({ name: 'wakeup', method: 'POST', acceptsRequestId: true }),
    route({ name: 'outcome' }),
  );
}

const header = { 'X-Request-ID': callersId };

test('on a path with two methods each request is identified by the rules of its own route', () => {
  const scene = wakeupPath();
  const post = scene.send('POST', { ...header, 'Content-Type': 'application/json' });
  assert.equal(post.headers.get('x-tg-request-id'), callersId);
  const get = scene.send('GET', header);
  assert.deepEqual([get.status, get.json['code']], ['200 OK', 0]);
  assert.notEqual(get.headers.get('x-tg-request-id'), callersId);
  assert.equal(get.json['request_id'], get.headers.get('x-tg-request-id'));
});

test('an X-Request-ID that is invalid for POST is ignored by GET', () => {
  const ids: Call['requestId'][] = [];
  const handle = (_: unknown, call: Call): Reply => {
    ids.push(call.requestId);
    return done;
  };
  const scene = new Scene(route({ method: 'POST', acceptsRequestId: true }), route({ handle }));
  scene.send('GET', { 'X-Request-ID': 'x'.repeat(129) });
  assert.deepEqual(
    ids.map(({ origin }) => origin),
    ['absent'],
  );
});

test('an unsupported method is 405 in the envelope of the path, and names the supported ones', async () => {
  const response = wakeupPath().send('DELETE', header);
  await response.finished;
  assert.equal(response.status, '405 Method Not Allowed');
  assert.equal(response.headers.get('allow'), 'POST, GET');
  assert.deepEqual(response.json, { request_id: callersId, code: 40500, message: codeTexts[40500] });
});

test('a body beyond the limit of its route is 413 before it is read', async () => {
  const scene = new Scene(route({ bodyBytesMax: 10 }));
  const response = scene.send('GET', { 'Content-Length': '11' });
  await response.finished;
  assert.deepEqual([response.status, response.json['code']], ['413 Content Too Large', 41300]);
});

test('a waiting route learns of a hang-up, and its answer is dropped', async () => {
  const gone: string[] = [];
  let settle: (reply: Reply) => void = () => undefined;
  const answer = new Promise<Reply>((resolve) => {
    settle = resolve;
  });
  const scene = new Scene(
    route({
      handle: (_, call) => {
        call.onGone(() => gone.push('gone'));
        return answer;
      },
    }),
  );
  const response = scene.send('GET');
  assert.deepEqual(gone, []);
  response.hangUp();
  assert.deepEqual(gone, ['gone']);
  await scene.requests.idle();
  settle(done);
  await new Promise(setImmediate);
  assert.equal(response.body, null);
});

for (const statusFromCode of [true, false]) {
  test(`Retry-After ${statusFromCode ? 'accompanies an error status' : 'does not accompany a 200'}`, () => {
    const handle = (): Reply => refuse({ ...refusal(42901), retryAfterS: 7 });
    const response = new Scene(route({ statusFromCode, handle })).send('GET');
    assert.equal(response.json['code'], 42901);
    assert.equal(response.status, statusFromCode ? '429 Too Many Requests' : '200 OK');
    assert.equal(response.headers.get('retry-after'), statusFromCode ? '7' : undefined);
  });
}

/** One call per 2.5 s, and the calls that were handled. */
function limited(overrides: Partial<Route>): { scene: Scene; handled: () => number } {
  let count = 0;
  const handle = (): Reply => {
    count += 1;
    return refuse(refusal(40003));
  };
  return { scene: new Scene(route({ handle, limit: 'queries', ...overrides })), handled: () => count };
}

for (const statusFromCode of [true, false])
  test(`an application over its limit learns when to retry, ${statusFromCode ? 'by a 429' : 'in a 200'}`, () => {
    const { scene, handled } = limited({ statusFromCode });
    scene.send('GET');
    const { status, json, headers } = scene.send('GET');
    assert.deepEqual([status, json['code']], [statusFromCode ? '429 Too Many Requests' : '200 OK', 42901]);
    assert.equal(headers.get('retry-after'), '3');
    assert.equal(handled(), 1, 'parameters are not looked at');
  });

test('a call without permission uses nothing of the limit', () => {
  const { scene, handled } = limited({});
  scene.registry.credentials.set(demoCredential.accessKeyId, { ...demoCredential, grants: [] });
  assert.equal(scene.send('GET').json['code'], 40301);
  scene.registry.credentials.set(demoCredential.accessKeyId, demoCredential);
  scene.send('GET');
  assert.equal(handled(), 1);
});

const refusing = (): Reply => refuse(refusal(40412));

function linesOf({ log }: Scene): unknown[] {
  return log.lines.map(({ level, fields, message }) => {
    const { request_id: requestId, ...rest } = fields as Record<string, unknown>;
    assert.equal(typeof requestId, 'string');
    return { level, message, ...rest };
  });
}

test('a refused request logs its route, status, code, milliseconds and application', () => {
  const scene = new Scene();
  const handle = (): Reply => {
    scene.clock.advance(12.34);
    return refusing();
  };
  const response = scene.send('GET', {}, { requests: scene.logging('refused', [route({ handle })]) });
  const { appId } = demoCredential;
  const line = { app_id: appId, route: 'test', status: 404, ms: 12.3, code: 40412, reason: codeTexts[40412] };
  assert.deepEqual(linesOf(scene), [{ level: 'info', message: 'request refused', ...line }]);
  assert.deepEqual(scene.log.lines[0]?.fields, {
    request_id: response.headers.get('x-tg-request-id'),
    ...line,
  });
});

test('an unsigned request logs the application it claims, and never the path', async () => {
  const scene = new Scene(route({}));
  await scene.send('GET', { 'X-Tg-Content-Sha256': '0'.repeat(64) }).finished;
  await scene.send('GET', {}, { at: '/v1/device/DOOR-1' }).finished;
  const told = linesOf(scene).map((line) => {
    const { claimed_app_id: claimed, route: name, code } = line as Record<string, unknown>;
    return [claimed, name, code];
  });
  const { appId } = demoCredential;
  assert.deepEqual(told, [
    [appId, 'test', 40105],
    [appId, 'none', 40400],
  ]);
  assert.doesNotMatch(JSON.stringify(scene.log.lines), /DOOR-1/);
});

test('successes are logged only with log.requests all, refusals unless it is none', () => {
  const lines = (logged: LoggedRequests): unknown[] => {
    const scene = new Scene();
    const routes = [route({}), route({ method: 'DELETE', handle: refusing })];
    const requests = scene.logging(logged, routes);
    scene.send('GET', {}, { requests });
    scene.send('DELETE', {}, { requests });
    return scene.log.lines.map(({ message }) => message);
  };
  assert.deepEqual(lines('off'), []);
  assert.deepEqual(lines('refused'), ['request refused']);
  assert.deepEqual(lines('all'), ['request answered', 'request refused']);
});

test('a refused wakeup is recorded as a wakeup, and logged only once', () => {
  const told: unknown[] = [];
  const scene = new Scene(
    route({ handle: refusing, answered: ({ reply, http }) => told.push([reply.code, http]) }),
  );
  scene.send('GET');
  assert.deepEqual(told, [[40412, { route: 'test', status: 404, seconds: 0 }]]);
  assert.deepEqual(scene.log.lines, []);
});

test('a request that asked to wait is counted separately', () => {
  const handle = (_: unknown, call: Call): Reply => {
    call.isLongPoll = true;
    return done;
  };
  const scene = new Scene(route({ handle }), route({ method: 'DELETE' }));
  scene.send('GET');
  scene.send('DELETE');
  assert.deepEqual(
    [...scene.telemetry.counts],
    [
      ['long poll test 200 0', 1],
      ['http test 200 0', 1],
    ],
  );
});
