/** The device of the story: a controller that is on or off, and a module that keeps its connection meanwhile. */
import type { Clock } from '../../lib/clock.ts';
import type { CallCredentialsData } from '../../client/reveille-client.ts';
import type { WakeMode } from '../../model/sleep.ts';
import { parseListenAddress } from '../../model/settings-values.ts';
import { DemoFailure, within, type DemoStage } from './demo-stage.ts';
import { credentialLines, showCredentials, type Timeline } from './timeline.ts';
import { spacedHex } from '../simulator/fleet-report.ts';
import { reachableAddress } from '../../cli/admin/running-server.ts';
import { SignalController } from '../simulator/signal-controller.ts';
import { SleepingModule } from '../simulator/sleeping-module.ts';

/** As fast as the processors in doorbells are. */
const bootMs = 300;

export class DemoDevice {
  readonly #stage: DemoStage;
  readonly #timeline: Timeline;
  readonly #clock: Clock;
  #controller: SignalController | null = null;
  #module: SleepingModule | null = null;
  #sleepServers: readonly string[] = [];
  #mediaUrl: string | null = null;

  constructor(stage: DemoStage, timeline: Timeline) {
    this.#stage = stage;
    this.#timeline = timeline;
    this.#clock = stage.clock;
  }

  /** Of the media listener, as the welcome told it. */
  get mediaUrl(): string {
    if (this.#mediaUrl === null) throw new DemoFailure('a welcome that names the media listener', 'none');
    return this.#mediaUrl;
  }

  async signIn(): Promise<void> {
    const { signalUrl: url, device, tls } = this.#stage;
    const options = { url, ...device, clock: this.#clock, tls: tls.signal ?? undefined };
    const connecting = SignalController.connect(options);
    this.#controller = await within(this.#clock, 'a welcome', connecting);
    const { epoch, heartbeatSeconds, sleep, mediaUrl } = this.#controller.welcome;
    this.#sleepServers = sleep.servers;
    this.#mediaUrl = mediaUrl;
    const advice = `sleep at ${sleep.servers.join(', ')}, media at ${mediaUrl ?? 'no address'}`;
    this.#timeline.notify(
      'controller',
      `signed in as ${device.deviceId}, epoch ${epoch}; told: a heartbeat every ${heartbeatSeconds} s, ${advice}`,
      { epoch, sleep, media: { url: mediaUrl } },
    );
  }

  /** The module logs in while the controller is on. */
  async logModuleIn(wakeMode: WakeMode): Promise<void> {
    const server = reachableAddress(this.#sleepServers[0] ?? '');
    const address = parseListenAddress(server);
    if (address === null) throw new DemoFailure('a sleep server as host:port', server);
    const { device, tls } = this.#stage;
    const options = { ...device, wakeMode, heartbeatSeconds: 15, host: address.host, tls: tls.sleep };
    const connecting = SleepingModule.connect(address.port, options);
    const before = this.#module;
    this.#module = await within(this.#clock, 'a sleep login', connecting);
    this.#timeline.notify('module', `logged in, wake mode ${wakeMode}, while the controller is awake`);
    if (before === null) return;
    await within(this.#clock, 'the end of the older connection', before.closed);
    this.#timeline.notify('module', 'its older connection was closed: a newer login replaces it');
  }

  async powerDown(): Promise<void> {
    await within(this.#clock, 'the end of the signal', this.#awake.bye('going to sleep'));
    this.#controller = null;
    this.#timeline.notify(
      'controller',
      `said bye and is off${this.#module === null ? '' : ': the device is asleep'}`,
    );
  }

  heartbeat(): void {
    this.#asleep.heartbeat();
    this.#timeline.notify('module', 'heartbeat: 64 bytes, no answer');
  }

  /**
   * Call it before the wakeup; what it gives waits for the packet, sees it byte for byte, tells of it, and resolves to the
   * milliseconds that it took.
   */
  awaitPacket(expected: string): () => Promise<number> {
    const askedMs = this.#clock.monotonicMs();
    const arrival = within(this.#clock, `the packet ${expected}`, this.#asleep.nextPacket()).then(
      (packet) => ({ bytes: spacedHex(packet), ms: this.#clock.monotonicMs() - askedMs }),
    );
    arrival.catch(() => undefined);
    return async () => {
      const { bytes, ms } = await arrival;
      if (bytes !== expected) throw new DemoFailure(`the packet ${expected}`, bytes);
      const when = `${ms.toFixed(1)} ms after the request began`;
      this.#timeline.notify('module', `packet on the wire: ${bytes}, ${when}`, { packet: bytes });
      return ms;
    };
  }

  async bootAndSignIn(): Promise<void> {
    this.#timeline.notify('module', 'its first six bytes match: the controller is powered up');
    await new Promise<void>((resolve) => void this.#clock.after(bootMs, resolve));
    await this.signIn();
    this.#awake.reportWake('remote');
    this.#timeline.notify('controller', 'wake report: woken by remote');
  }

  /** The credentials in the message of this name. */
  async takeCredentials(name: string): Promise<CallCredentialsData> {
    const message = await within(this.#clock, `the message ${name}`, this.#awake.nextMessage());
    if (message.name !== name) throw new DemoFailure(`the message ${name}`, message.name);
    this.#awake.acknowledge(message.id);
    const credentials = message.payload as unknown as CallCredentialsData;
    this.#timeline.notify(
      'controller',
      `message ${name}: its credentials, acknowledged`,
      { message: { ...message, payload: showCredentials(credentials) } },
      credentialLines(credentials),
    );
    return credentials;
  }

  async hangModuleUp(): Promise<void> {
    await this.#asleep.close();
    this.#module = null;
    this.#timeline.notify('module', 'hung up: the controller is awake');
  }

  /** Leaves nothing open, whatever the story came to. */
  async close(): Promise<void> {
    await Promise.all([this.#controller?.terminate(), this.#module?.close()]);
  }

  get #awake(): SignalController {
    if (this.#controller === null) throw new DemoFailure('a controller that is on', 'one that is off');
    return this.#controller;
  }

  get #asleep(): SleepingModule {
    if (this.#module === null) throw new DemoFailure('a module that is logged in', 'none');
    return this.#module;
  }
}
