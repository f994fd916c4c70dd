/**
 * A server with our duties, written as plainly as the documentation of its libraries suggests: uWebSockets.js, HMAC by node:crypto,
 * devices in a Map, rows in lmdb, tokens by jose. It checks each signature with its date and application, wakes a device by 8 bytes on
 * its socket, and stores a wakeup with its event, and a call's session before its answer. It has no limits, repeats, permissions,
 * outcomes or long polls. Its sleep server is in plain-devices.ts. Argument: the directory of its store.
 */
import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { SignJWT } from 'jose';
import { open } from 'lmdb';
import { ListeningApps, type HttpRequest, type HttpResponse } from '../../src/lib/uws.ts';
import { backendCredential } from '../load/population.ts';
import { answerAsPeer, type PeerPorts } from './answer-as-peer.ts';
import { nowS, PlainDevices, type Device } from './plain-devices.ts';

const windowMs = 300_000;
const scopeDays = 7;
const dayMs = 86_400_000;
const callsOfDeviceMax = 4;
const packet = Buffer.from('983b16f8f39c0000', 'hex');
const tokenKey = Buffer.alloc(32, 'k');

const store = open({ path: process.argv[2] ?? '' });
const wakeups = store.openDB({ name: 'wakeups' });
const calls = store.openDB({ name: 'calls' });
const devices = new PlainDevices(store);
const callsOf = new WeakMap<Device, readonly object[]>();

interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: ReadonlyMap<string, string>;
}

function readRequest(request: HttpRequest, method: string): SignedRequest {
  const headers = new Map<string, string>();
  request.forEach((name, value) => headers.set(name, value));
  return {
    method,
    path: request.getUrl(),
    query: method === 'GET' ? (request.getQuery() ?? '') : '',
    headers,
  };
}

const signingKeys = new Map<string, Buffer>();

function signingKey(day: string, path: string): Buffer {
  const name = day + path;
  const known = signingKeys.get(name);
  if (known !== undefined) return known;
  const hmac = (key: string | Buffer, text: string): Buffer =>
    createHmac('sha256', key).update(text).digest();
  const key = hmac(hmac(hmac(`TGV1${backendCredential.secretKey}`, day), path), 'tgv1_request');
  signingKeys.set(name, key);
  return key;
}

const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');
const authorization =
  /^TGV1-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/tgv1_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
const dateForm = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

function isSigned({ method, path, query, headers }: SignedRequest, body: Buffer): boolean {
  const [, id, scopeDay, list = '', signature = ''] =
    authorization.exec(headers.get('authorization') ?? '') ?? [];
  const date = headers.get('x-tg-date') ?? '';
  const atMs = Date.parse(date.replace(dateForm, '$1-$2-$3T$4:$5:$6Z'));
  const scope = new Date(atMs + scopeDays * dayMs).toISOString().slice(0, 10).replaceAll('-', '');
  const bodyHash = sha256(body);
  if (id !== backendCredential.accessKeyId || scopeDay !== scope || Math.abs(Date.now() - atMs) > windowMs)
    return false;
  if (
    headers.get('x-tg-app-id') !== backendCredential.appId ||
    headers.get('x-tg-content-sha256') !== bodyHash
  )
    return false;
  const lines = list.split(';').map((name) => `${name}:${headers.get(name) ?? ''}`);
  const canonical = [method, path, query, ...lines, list, bodyHash].join('\n');
  const toSign = ['TGV1-HMAC-SHA256', date, `${scope}/tgv1_request`, sha256(canonical)].join('\n');
  const expected = createHmac('sha256', signingKey(date.slice(0, 8), path))
    .update(toSign)
    .digest();
  return timingSafeEqual(expected, Buffer.from(signature, 'hex'));
}

interface Answer {
  readonly status: string;
  readonly body: object;
}

const unauthorized: Answer = {
  status: '401 Unauthorized',
  body: { code: 40105, message: 'signature mismatch' },
};
const unknown: Answer = { status: '404 Not Found', body: { code: 40412, message: 'no device' } };
const success = { code: 0, message: 'success' };

type Handle = (request: SignedRequest, body: Buffer) => Answer | Promise<Answer>;

async function respond(
  response: HttpResponse,
  request: SignedRequest,
  body: Buffer,
  handle: Handle,
): Promise<void> {
  let isOpen = true;
  response.onAborted(() => {
    isOpen = false;
  });
  const answered = isSigned(request, body) ? handle(request, body) : unauthorized;
  const answer = answered instanceof Promise ? await answered : answered;
  if (!isOpen) return;
  response.cork(() => {
    response.writeStatus(answer.status);
    response.writeHeader('content-type', 'application/json; charset=utf-8');
    response.end(JSON.stringify(answer.body), false);
  });
}

function answerGet(handle: Handle): (response: HttpResponse, request: HttpRequest) => void {
  return (response, request) => void respond(response, readRequest(request, 'GET'), Buffer.alloc(0), handle);
}

function answerPost(handle: Handle): (response: HttpResponse, request: HttpRequest) => void {
  return (response, head) => {
    const request = readRequest(head, 'POST');
    const chunks: Buffer[] = [];
    response.onAborted(() => undefined);
    response.onData((chunk, isLast) => {
      chunks.push(Buffer.from(chunk.slice(0)));
      if (isLast) void respond(response, request, Buffer.concat(chunks), handle);
    });
  };
}

function answerConnectivity({ query }: SignedRequest): Answer {
  const deviceId = new URLSearchParams(query).get('device_id') ?? '';
  const device = devices.find(deviceId);
  if (device === undefined) return unknown;
  const signal = { is_online: false, last_login_at: null, last_heartbeat_at: null, last_offline_at: null };
  const sleep = {
    last_login_at: device.loggedInAt,
    last_heartbeat_at: device.heartbeatAt,
    last_offline_at: null,
  };
  return { status: '200 OK', body: { ...success, data: { device_id: deviceId, signal, sleep } } };
}

function wake({ headers }: SignedRequest, body: Buffer): Answer {
  const { device_id: deviceId } = JSON.parse(body.toString()) as { readonly device_id: string };
  const socket = devices.find(deviceId)?.socket ?? null;
  if (socket === null) return unknown;
  socket.write(packet);
  const requestId = headers.get('x-request-id') ?? randomUUID();
  const acceptedAt = nowS();
  const wakeup = { deviceId, status: 'accepted', acceptedAt, packet: packet.toString('hex') };
  void wakeups.put(requestId, wakeup);
  devices.append({ type: 'device.wakeup.accepted', deviceId, requestId, acceptedAt });
  return {
    status: '202 Accepted',
    body: { ...success, data: { device_id: deviceId, accepted_at: acceptedAt } },
  };
}

async function issueCredentials(_request: SignedRequest, body: Buffer): Promise<Answer> {
  const order = JSON.parse(body.toString()) as { readonly device_id: string };
  const { device_id: deviceId } = order;
  const device = devices.find(deviceId);
  if (device === undefined) return unknown;
  const session = { ...order, sessionId: randomUUID(), state: 'issued', createdAt: nowS() };
  const sessions = [...(callsOf.get(device) ?? []), session].slice(-callsOfDeviceMax);
  callsOf.set(device, sessions);
  const committed = calls.put(deviceId, sessions);
  const token = await new SignJWT({ sid: session.sessionId })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: 'first' })
    .setIssuer('reveille')
    .setAudience('msgvoip')
    .setSubject(deviceId)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('1m')
    .sign(tokenKey);
  await committed;
  const peerId = `x_device_id=${deviceId}&session=${session.sessionId}`;
  return { status: '200 OK', body: { ...success, data: { peer_id: peerId, token } } };
}

async function listen(): Promise<PeerPorts> {
  const at = { host: '127.0.0.1', port: 0, tls: null, sharesPort: false };
  const apps = new ListeningApps(at, (app) => {
    app.get('/v1/device/connectivity', answerGet(answerConnectivity));
    app.post('/v1/device/wakeup-request', answerPost(wake));
    app.post('/v1/token/msgvoip', answerPost(issueCredentials));
  });
  await apps.listen();
  return { httpPort: apps.port, devicePort: await devices.listen() };
}

answerAsPeer(listen);
