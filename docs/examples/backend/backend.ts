/**
 * A backend for calls: the messaging app pushes the call of a phone to a device. The backend queries whether the device is free,
 * lets the phone ring, issues credentials and sends them in a message, which wakes a sleeping device. README.md has the
 * environment. Rooms and reports are in memory here: your own backend stores them, and the cursor of the events, in its database.
 */
import { createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ReveilleClient, type CallCredentialsBody } from 'reveille/client';

function env(name: string, otherwise = ''): string {
  const value = process.env[name] ?? otherwise;
  if (value !== '') return value;
  process.stderr.write(`${name} is missing in the environment: see docs/examples/backend/README.md\n`);
  process.exit(2);
}
const [accessKeyId, secretKey, appId] = [env('API_ACCESS_KEY_ID'), env('API_SECRET_KEY'), env('API_APP_ID')];
const [origin, listen] = [env('API_ORIGIN', 'http://127.0.0.1:8080'), env('PUSH_LISTEN', '127.0.0.1:8070')];
const [pushToken, msgAppId] = [env('PUSH_TOKEN'), env('MSG_APP_ID')];
const pushKey = Buffer.from(`${env('PUSH_AES_KEY')}=`, 'base64');
const defaultMedia = JSON.parse(env('DEFAULT_MEDIA', '{"no_video":true}')) as object;

/** The phone rings for `callMsMax`; later work for its call is useless. The platform waits 5 s for a response. */
const [callMsMax, answerMsMax, clockWindowS, callsMax] = [30_000, 3000, 300, 200];
/** Rooms are remembered for longer than a push can be replayed: 15 minutes at 50 calls a second. */
const [attemptsMax, retryMs, roomsMax, bodyBytesMax] = [3, 1000, 45_000, 64 * 1024];
/** Codes of temporary failures. 40412: a booting device has neither connection for a moment. */
const passing = new Set([40412, 42901, 50000, 50204, 50301, 50401, 50402]);

/** 0 makes the platform ring. */
const verdicts = { ok: 0, busy: 1, refused: 2, overloaded: 3 };
type Verdict = keyof typeof verdicts;
type Answer<Data> =
  | { readonly ok: true; readonly data: Data }
  | { readonly ok: false; readonly code: number; readonly message: string; readonly requestId: string };
type Push = Readonly<Record<'RoomId' | 'SessionKey' | 'ServerToken' | 'ModelId' | 'Sn' | 'Payload', string>>;

const api = new ReveilleClient({
  origin,
  credential: { accessKeyId, secretKey, appId },
  socketsMax: callsMax + 1,
});
const media = new Map<string, object>();
const rooms = new Map<string, Promise<Verdict>>();
const calls = new Set<Promise<void>>();

/** Prints a JSON line, without keys and tokens. */
function log(step: string, fields: object = {}): void {
  process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), step, ...fields })}\n`);
}

/** Follows the events: the `media` capabilities that devices report at their login, and the progress of calls. */
async function followEvents(): Promise<void> {
  const onTrouble = (error: Error): void => log('events.trouble', { error: error.message });
  for await (const { event } of api.followEvents({ onTrouble })) {
    const { type, device_id: device, data } = event;
    if (type === 'device.signal.online') media.set(device, data.media ?? {});
    else if (type === 'call.ended') log(type, { device, session: data.session, reason: data.reason });
  }
}

/** Checks the signature with our token, and the timestamp. */
function isSigned(query: URLSearchParams, name: string, ...encrypted: string[]): boolean {
  const parts = [pushToken, query.get('timestamp') ?? '', query.get('nonce') ?? '', ...encrypted];
  const expected = createHash('sha1').update(parts.sort().join('')).digest();
  const given = Buffer.from(query.get(name) ?? '', 'hex');
  const ageS = Math.abs(Date.now() / 1000 - Number(query.get('timestamp')));
  return given.length === expected.length && timingSafeEqual(given, expected) && ageS <= clockWindowS;
}

/** Throws if it was encrypted with another key, or for another mini program. */
function decrypt(encrypted: string): string {
  const decipher = createDecipheriv('aes-256-cbc', pushKey, pushKey.subarray(0, 16)).setAutoPadding(false);
  const padded = Buffer.concat([decipher.update(encrypted, 'base64'), decipher.final()]);
  // 16 random bytes, 4 of length, the message, the app's id, and 1 to 32 bytes of padding.
  const plain = padded.subarray(0, padded.length - (padded.at(-1) ?? 0));
  const end = 20 + plain.readUInt32BE(16);
  if (plain.toString('utf8', end) !== msgAppId) throw new Error('another mini program, or another key');
  return plain.toString('utf8', 20, end);
}

/** Returns status and text. Unauthenticated clients get no reason for a refusal. */
async function answer(request: IncomingMessage): Promise<readonly [number, string]> {
  const query = new URL(request.url ?? '/', 'http://backend').searchParams;
  if (isSigned(query, 'signature') && request.method === 'GET') return [200, query.get('echostr') ?? ''];
  const isShort = Number(request.headers['content-length']) <= bodyBytesMax;
  if (!isShort) throw new Error('no length, or over 64 KiB');
  const body = Buffer.concat((await request.toArray()) as Buffer[]).toString('utf8');
  const { Encrypt: encrypted = '' } = JSON.parse(body) as { Encrypt?: string };
  if (!isSigned(query, 'msg_signature', encrypted)) throw new Error('signature or time');
  const push = JSON.parse(decrypt(encrypted)) as Push & { readonly Event: string; readonly Action: string };
  if (push.Event !== 'iot_voip_notify' || push.Action !== 'join_voip_room') return [200, 'success'];
  const verdict = await Promise.race([receive(push), delay(answerMsMax, 'ok' as const)]);
  return [200, JSON.stringify({ errcode: verdicts[verdict], errmsg: verdict })];
}

/** The platform repeats a push without a response: place the room's call once, and answer all alike. */
function receive(push: Push): Promise<Verdict> {
  const { RoomId: room, Sn: device } = push;
  const known = rooms.get(room);
  log(known === undefined ? 'push.received' : 'push.repeated', { room, device });
  if (known !== undefined) return known;
  if (calls.size >= callsMax) return Promise.resolve('overloaded');
  const signal = AbortSignal.timeout(callMsMax);
  const reasonOf = (error: unknown): string => (signal.aborted ? 'time_over' : String(error));
  const verdict = judge(push, signal);
  const call: Promise<void> = verdict
    .then((decision) => (decision === 'ok' ? place(push, signal) : undefined))
    .catch((error: unknown) => log('call.failed', { room, device, reason: reasonOf(error) }))
    .finally(() => calls.delete(call));
  calls.add(call);
  rooms.set(room, verdict);
  if (rooms.size > roomsMax) rooms.delete(rooms.keys().next().value ?? '');
  return verdict;
}

/** An unavailable status does not block the call: the check only avoids ringing in vain. */
async function judge({ RoomId: room, Sn: device }: Push, signal: AbortSignal): Promise<Verdict> {
  const status = await api.callStatus(device, { signal }).catch(() => null);
  if (status === null || (!status.ok && passing.has(status.code))) return 'ok';
  if (!status.ok) log('call-status.refused', { room, device, code: status.code });
  return status.ok ? (status.data.in_call ? 'busy' : 'ok') : 'refused';
}

async function place(push: Push, signal: AbortSignal): Promise<void> {
  const { RoomId: room, Sn: device } = push;
  const body: CallCredentialsBody = {
    audio_rate: 8000,
    audio_channels: 1,
    ...(media.get(device) ?? defaultMedia),
    msg_session_key: push.SessionKey,
    msg_session_token: push.ServerToken,
    msg_room_id: room,
    msg_app_id: msgAppId,
    msg_model_id: push.ModelId,
    msg_payload: push.Payload,
    device_id: device,
    calling_timeout_sec: callMsMax / 1000,
  };
  /** Retries while the phone rings. */
  const insist = async <Data>(step: string, ask: () => Promise<Answer<Data>>): Promise<Data> => {
    for (let attempt = 1; ; attempt += 1) {
      const result = await ask();
      if (result.ok) return result.data;
      const { code, message, requestId } = result;
      log(`${step}.refused`, { room, device, code, message, request_id: requestId });
      if (!passing.has(code) || attempt === attemptsMax) throw new Error(`the ${step} was refused`);
      await delay(retryMs, undefined, { signal });
    }
  };
  const credentials = await insist('credentials', () => api.issueCallCredentials(body, { signal }));
  const session = new URL(credentials.peer_id).searchParams.get('x_session');
  log('credentials.issued', { room, device, session });
  const payload = { ...credentials, calling_timeout_sec: body.calling_timeout_sec };
  const options = { wake: true, waitS: 30, signal };
  const { wakeup } = await insist('message', async () => {
    const result = await api.sendMessage(device, 'msga_join_voip_room', payload, options);
    // The device counts as online but does not answer: its connection may have broken unnoticed.
    const isSilent = !result.ok && result.code === 50402 && result.data?.wakeup === undefined;
    if (isSilent) await api.wake(device, { signal });
    return result;
  });
  log('call.delivered', { room, device, woke_after_ms: wakeup?.woke_after_ms });
}

const server = createServer({ requestTimeout: 5000 }, (request, response) => {
  answer(request).then(
    ([status, text]) => response.writeHead(status).end(text),
    (error: Error) => {
      // The parser's message quotes the text, which contains keys.
      log('push.refused', { reason: error instanceof SyntaxError ? 'no JSON' : error.message });
      response.writeHead(400).end();
    },
  );
});
const [, host, port] = /^(.+):(\d+)$/.exec(listen) ?? [];
server.listen(Number(port), host, () => log('backend.started', { address: server.address() }));
void followEvents();
/** Lets calls in progress end first. */
process.once('SIGTERM', () => {
  server.close();
  void Promise.all(calls).then(() => process.exit(0));
});
