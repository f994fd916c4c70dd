/**
 * Devices by the ten thousand in one process, asleep or awake: they log in, hold their connections, send heartbeats and
 * say what arrives. They come from many loopback addresses, as devices do, and as the bound per address asks.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { beginDialogue, type Dialogue, type DialectName } from './dialects.ts';
import { HeldConnections } from './held-connections.ts';
import { monotonicMs } from './peer-protocol.ts';
import { deviceIdentity } from './population.ts';

export interface LoginPlan {
  readonly port: number;
  readonly dialect: DialectName;
  readonly count: number;
  /** The number of the first device; 0 when left out. */
  readonly from?: number;
  /** Logins under way at once. */
  readonly concurrency: number;
  /** A device that is turned away tries so often; once when left out. */
  readonly triesMax?: number;
}

export interface LoginReading {
  readonly loggedIn: number;
  /** Refused, reset or closed before they were in. */
  readonly failed: number;
  /** Tries beyond each device's first. */
  readonly again: number;
  readonly firstTrouble: string | null;
  /** On the clock that all processes share. */
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Takes what the server sends to a device that is in. Valid during the call only. */
export type PacketTaker = (device: number, chunk: Buffer) => void;

const sourceAddresses = 40;
const betweenTriesMs = 200;
const sliceMs = 10;
const heartbeat = Buffer.alloc(64, 0x2e);
/** All sockets read into the same memory: what has arrived is looked at at once. */
const readBuffer = Buffer.alloc(16 * 1024);

export class Fleet {
  /** Connections that ended after their login. */
  lost = 0;
  takePacket: PacketTaker = () => undefined;
  readonly #sockets: Socket[] = [];
  /** By place the device whose socket it is. */
  readonly #devices: number[] = [];

  async login(plan: LoginPlan): Promise<LoginReading> {
    const startedMs = monotonicMs();
    let next = 0;
    let failed = 0;
    let again = 0;
    let firstTrouble: string | null = null;
    const loginInTurn = async (): Promise<void> => {
      while (next < plan.count) {
        const index = next++;
        let trouble = await this.#loginOne(plan, (plan.from ?? 0) + index);
        for (let tries = 1; trouble !== null && tries < (plan.triesMax ?? 1); tries += 1) {
          again += 1;
          await sleep(betweenTriesMs);
          trouble = await this.#loginOne(plan, (plan.from ?? 0) + index);
        }
        if (trouble === null) continue;
        failed += 1;
        firstTrouble ??= trouble;
      }
    };
    await Promise.all(Array.from({ length: plan.concurrency }, loginInTurn));
    return { loggedIn: plan.count - failed, failed, again, firstTrouble, startedMs, endedMs: monotonicMs() };
  }

  /** Every device sends `seconds` heartbeats, one a second, spread evenly; resolves when the last is sent. */
  heartbeats(seconds: number): Promise<number> {
    const count = this.#sockets.length;
    const startMs = performance.now();
    let sent = 0;
    return new Promise((resolve) => {
      const turn = (): void => {
        const due = Math.min(seconds * count, Math.floor(((performance.now() - startMs) / 1000) * count));
        for (; sent < due; sent += 1) this.#sockets[sent % count]?.write(heartbeat);
        if (sent < seconds * count) setImmediate(turn);
        else resolve(sent);
      };
      turn();
    });
  }

  /** Heartbeats for so long, one of each device every `everySeconds`, as calmly as devices do; resolves to how many. */
  heartbeatCalmly(seconds: number, everySeconds: number): Promise<number> {
    const count = this.#sockets.length;
    const startMs = performance.now();
    let sent = 0;
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        const passed = Math.min((performance.now() - startMs) / 1000, seconds);
        const due = Math.floor((passed / everySeconds) * count);
        for (; sent < due; sent += 1) this.#sockets[sent % count]?.write(heartbeat);
        if (passed < seconds) return;
        clearInterval(timer);
        resolve(sent);
      }, sliceMs);
    });
  }

  /** The devices whose connections to this port the process holds, in their order. */
  devicesAt(pid: number, port: number): number[] {
    const held = new HeldConnections(pid, port);
    const numbers = this.#devices.filter((_, place) => {
      const { localAddress = '', localPort = 0 } = this.#sockets[place] ?? {};
      return held.has(localAddress, localPort);
    });
    return numbers.sort((a, b) => a - b);
  }

  #loginOne({ port, dialect }: LoginPlan, index: number): Promise<string | null> {
    return new Promise((resolve) => {
      let dialogue: Dialogue | null = beginDialogue(dialect, deviceIdentity(index));
      const enter = (): void => {
        dialogue = null;
        this.#sockets.push(socket);
        this.#devices.push(index);
        resolve(null);
      };
      const received = (length: number): boolean => {
        const chunk = readBuffer.subarray(0, length);
        if (dialogue === null) {
          this.takePacket(index, chunk);
          return true;
        }
        const step = dialogue.received(chunk);
        if (step === 'in') enter();
        else if (step === 'refused') fail(`refused: ${chunk.toString('latin1')}`);
        else if (step !== 'wait') socket.write(step);
        return true;
      };
      const fail = (trouble: string): void => {
        if (dialogue === null) this.lost += 1;
        socket.destroy();
        resolve(trouble);
      };
      const socket = connect({
        host: '127.0.0.1',
        port,
        localAddress: `127.0.0.${2 + (index % sourceAddresses)}`,
        noDelay: true,
        onread: { buffer: readBuffer, callback: received },
      });
      socket.once('error', (error) => fail(error.message));
      socket.once('end', () => fail('the server closed the connection'));
      socket.once('connect', () => {
        if (dialogue?.opening) socket.write(dialogue.opening);
        if (dialogue?.isInAtOnce) enter();
      });
    });
  }
}
