/**
 * The sleep server of the plain server: node:net, a session key by randomBytes, a login line with its HMAC, and lmdb. It keeps the
 * deadlines of a login and of heartbeats, closes a session that a login replaces, and stores a device's connection and the event of each
 * login and each end. Like ours it answers without waiting for the commit. It holds all devices in a Map, with the stored rows since its
 * start, so that a login reads no store. It has no limits, and refuses without a reason.
 */
import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { RootDatabase } from 'lmdb';
import { deviceIdentity } from '../load/population.ts';
import { listenForDevices } from './device-listener.ts';

const devicesMax = 20_000;
const lineBytesMax = 1024;
const loginMsMax = 10_000;
const heartbeatsMissedMax = 3;

interface Connection {
  loggedInAt: number;
  heartbeatAt: number;
  offlineAt: number | null;
  epoch: number;
  /** Number of the device's latest event. */
  seq: number;
  openSession: string | null;
}

export interface Device extends Connection {
  readonly deviceId: string;
  readonly secret: string;
  socket: Socket | null;
}

const neverConnected: Connection = {
  loggedInAt: 0,
  heartbeatAt: 0,
  offlineAt: null,
  epoch: 0,
  seq: 0,
  openSession: null,
};

export interface PlainEvent {
  readonly type: string;
  readonly deviceId: string;
  readonly [detail: string]: unknown;
}

export const nowS = (): number => Math.floor(Date.now() / 1000);

export class PlainDevices {
  readonly #devices = new Map<string, Device>();
  readonly #connections;
  readonly #events;
  #lastEvent = 0;

  constructor(store: RootDatabase) {
    this.#connections = store.openDB<Connection, string>({ name: 'connections' });
    this.#events = store.openDB<object, number>({ name: 'events' });
    for (const sequence of this.#events.getKeys({ reverse: true, limit: 1 })) this.#lastEvent = sequence;
    for (let index = 0; index < devicesMax; index += 1) {
      const { deviceId, secret } = deviceIdentity(index);
      const stored = this.#connections.get(deviceId) ?? neverConnected;
      this.#devices.set(deviceId, { deviceId, secret, socket: null, ...stored });
    }
  }

  find(deviceId: string): Device | undefined {
    return this.#devices.get(deviceId);
  }

  listen(): Promise<number> {
    return listenForDevices((socket) => this.#accept(socket));
  }

  append(event: PlainEvent): void {
    this.#lastEvent += 1;
    void this.#events.put(this.#lastEvent, { id: randomUUID(), ...event });
  }

  #accept(socket: Socket): void {
    const sessionKey = randomBytes(24).toString('base64url');
    let device: Device | null = null;
    let line = '';
    socket.write(sessionKey);
    socket.setTimeout(loginMsMax, () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      if (device !== null) device.heartbeatAt = nowS();
      else {
        line += chunk.toString('latin1');
        if (line.includes('\n')) device = this.#logIn(socket, sessionKey, line.slice(0, line.indexOf('\n')));
        else if (line.length > lineBytesMax) socket.destroy();
      }
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (device?.socket === socket) this.#end(device);
    });
  }

  /** Null: refused. */
  #logIn(socket: Socket, sessionKey: string, line: string): Device | null {
    const [version = '', idField = '', wake = '', heartbeat = '', reply = '', mac = ''] = line.split(' ');
    const device = this.#devices.get(Buffer.from(idField, 'base64url').toString());
    const signed = [version, sessionKey, idField, wake, heartbeat, reply].join('\n');
    if (device === undefined || !isProof(device.secret, signed, mac)) {
      socket.destroy();
      return null;
    }
    const replaced = device.socket;
    device.socket = socket;
    device.openSession = randomUUID();
    device.loggedInAt = nowS();
    device.epoch += 1;
    this.#store(device, 'device.sleep.login', { session: device.openSession, replaced: replaced !== null });
    replaced?.destroy();
    socket.setTimeout(heartbeatsMissedMax * Number(heartbeat) * 1000);
    if (reply === '1') socket.write('OK\n');
    return device;
  }

  #end(device: Device): void {
    const session = device.openSession;
    device.offlineAt = nowS();
    device.openSession = null;
    device.socket = null;
    this.#store(device, 'device.sleep.offline', { session, reason: 'peer_closed' });
  }

  #store(device: Device, type: string, data: object): void {
    device.seq += 1;
    const { deviceId, loggedInAt, heartbeatAt, offlineAt, epoch, seq, openSession } = device;
    void this.#connections.put(deviceId, { loggedInAt, heartbeatAt, offlineAt, epoch, seq, openSession });
    this.append({ type, deviceId, atMs: Date.now(), epoch, seq, data });
  }
}

function isProof(secret: string, signed: string, mac: string): boolean {
  const given = Buffer.from(mac, 'hex');
  const expected = createHmac('sha256', secret).update(signed).digest();
  return given.length === expected.length && timingSafeEqual(given, expected);
}
