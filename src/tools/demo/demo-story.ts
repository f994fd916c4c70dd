/**
 * The steps of the demo: a device logs in, falls asleep, is woken by a signed request, logs in again and joins a call with
 * pictures. Each step has one expected result, including the API's answer; any other throws a DemoFailure.
 * Source: running.md, Two commands.
 */
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describeOutcome } from '../../cli/api/wakeup-outcome.ts';
import type { ApiResult, CallCredentialsData, ConnectivityData } from '../../client/reveille-client.ts';
import { pause } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import { openEngine } from '../../media/codec/engine.ts';
import { jpegSize } from '../../media/geometry/jpeg.ts';
import type { FailureCode } from '../../model/codes.ts';
import { PlaybackTally } from '../bridge/bridge-playback.ts';
import { playingBridge } from '../bridge/bridge-show.ts';
import { sizeInWords } from '../bridge/call-report.ts';
import { testFilm } from '../bridge/test-picture.ts';
import { addressOf } from '../simulator/device-connections.ts';
import { spacedHex } from '../simulator/fleet-report.ts';
import { DeviceLeg } from '../simulator/media-leg.ts';
import { SignalController } from '../simulator/signal-controller.ts';
import { sessionOf, simulatedRoom } from '../simulator/simulated-room.ts';
import { SleepingModule } from '../simulator/sleeping-module.ts';
import type { DemoStage } from './demo-stage.ts';
import type { Timeline } from './timeline.ts';

export class DemoFailure extends Error {}

const bootMs = 300;
/** Timeout of a step, and the interval at which a query is repeated until its answer is as expected. */
const patienceMs = 5000;
const askAgainMs = 20;
const packetWanted = '98 3b 16 f8 f3 9c 00 00';
const messageName = 'msga_join_voip_room';
const picturesWanted = 15;
/** A portrait phone, and a device with a small landscape screen. */
const phoneSize = { width: 240, height: 320 };
const screen = { screen_width: 160, screen_height: 100, video_res_mode: 'fit_screen' } as const;

export async function runStory(stage: DemoStage, timeline: Timeline, directory: string): Promise<void> {
  const story = new Story(stage, timeline);
  try {
    await timeline.chapter('A device comes online');
    const controller = await story.connectController();
    await timeline.chapter('It falls asleep: only its low-power module stays connected');
    const module = await story.fallAsleep(controller);
    await timeline.chapter('The backend wakes it');
    const awake = await story.wake(module);
    await timeline.chapter('A call: H.264 from the phone, pictures that fit the screen of the device');
    await story.call(awake, directory);
  } finally {
    await story.close();
  }
}

class Story {
  readonly #stage: DemoStage;
  readonly #step: Timeline['step'];
  readonly #closes: (() => unknown)[] = [];

  constructor(stage: DemoStage, timeline: Timeline) {
    this.#stage = stage;
    this.#step = timeline.step.bind(timeline);
  }

  async connectController(): Promise<SignalController> {
    const { signalUrl: url, device, tls } = this.#stage;
    const options = { url, ...device, tls: tls.signal, autoAcknowledge: true };
    const connecting = SignalController.connect(options);
    const controller = await this.#within('a welcome', connecting);
    this.#closes.push(() => controller.terminate());
    const { epoch, heartbeat_s, sleep, media } = controller.welcome;
    const advice = `a heartbeat every ${heartbeat_s} s, sleep at ${sleep.servers.join(', ')}, media at ${media?.url ?? 'no address'}`;
    this.#step('controller', `signed in as ${device.deviceId}, epoch ${epoch}; received: ${advice}`);
    await this.#expectConnectivity('online', ({ signal }) => signal.is_online);
    return controller;
  }

  async fallAsleep(controller: SignalController): Promise<SleepingModule> {
    const { device, tls } = this.#stage;
    const { host, port } = addressOf(controller.welcome.sleep.servers[0] ?? '');
    const connecting = SleepingModule.connect(port, { ...device, host, tls: tls.sleep ?? null });
    const module = await this.#within('a sleep login', connecting);
    this.#closes.push(() => module.close());
    this.#step('module', 'logged in, while the controller is awake');
    await this.#within('the end of the signal', controller.bye('going to sleep'));
    this.#step('controller', 'said bye and is off: the device is asleep');
    module.heartbeat();
    const isAsleep = ({ signal, sleep }: ConnectivityData): boolean =>
      !signal.is_online && sleep.last_heartbeat_at !== null;
    await this.#expectConnectivity('asleep', isAsleep);
    return module;
  }

  async wake(module: SleepingModule): Promise<SignalController> {
    const { api, clock, device } = this.#stage;
    const askedMs = clock.monotonicMs();
    const coming = module.nextPacket().then((bytes) => [spacedHex(bytes), clock.monotonicMs()] as const);
    const wakeup = await api.wake(device.deviceId);
    if (!wakeup.ok) throw new DemoFailure(`the wakeup was refused: ${wakeup.message} (${wakeup.code})`);
    const { requestId } = wakeup;
    this.#step('backend', `signed wakeup: HTTP 202, code 0, request ${requestId}`);
    const [packet, atMs] = await this.#within('the wake packet', coming);
    if (packet !== packetWanted) throw new DemoFailure(`expected the packet ${packetWanted}; got ${packet}`);
    const took = `${(atMs - askedMs).toFixed(1)} ms after the request began`;
    this.#step('module', `packet on the wire: ${packet}, ${took}`, { packet });
    await pause(clock, bootMs);
    const controller = await this.connectController();
    controller.reportWake('remote');
    await module.close();
    const ask = (): ReturnType<typeof api.wakeupOutcome> => api.wakeupOutcome(requestId, { waitS: 2 });
    const outcome = await this.#expect('its outcome', ask, ({ status }) => status === 'completed');
    this.#step('backend', `outcome of that wakeup: ${describeOutcome(outcome)}`, { outcome });
    return controller;
  }

  async call(controller: SignalController, directory: string): Promise<void> {
    const { api, clock, device, bridge, tls } = this.#stage;
    const opened = await openEngine();
    if (!opened.ok) this.#step('demo', `the call carries no pictures: ${opened.error}`);
    const video = opened.ok ? ({ down_video_mt: 'mjpeg', ...screen } as const) : { no_video: true };
    const body = { ...simulatedRoom('demo', video), device_id: device.deviceId };
    const issued = await this.#expect('call credentials', () => api.issueCallCredentials(body));
    const { media_url: url = '', peer_id: peerId } = issued;
    const session = sessionOf(peerId);
    this.#step('backend', `signed call credentials: HTTP 200, code 0, session ${session}`);
    const onEvent = (_event: string, json: object, text: string): void => this.#step('bridge', text, json);
    const plan = { format: 'h264', sizes: [phoneSize], tone: null, openFilm: testFilm } as const;
    const show = {
      clock,
      engine: opened.ok ? opened.value : null,
      tally: new PlaybackTally(),
      onEvent,
      plan,
    };
    const access = { url, tls: tls.media, key: bridge.key };
    const uplink = { video: null, audio: null };
    const phone = playingBridge({ ...show, ...access, uplink, answerAfterMs: null }, session);
    const playing = phone.run();
    playing.catch(() => undefined);
    this.#closes.push(() => phone.stop());
    const send = (): ReturnType<typeof api.sendMessage> =>
      api.sendMessage(device.deviceId, messageName, issued);
    const sending = this.#expect('an acknowledgement', send);
    const { name, payload } = await this.#within('the message', controller.nextMessage());
    this.#step('controller', `message ${name}: its credentials, acknowledged`);
    await sending;
    this.#step('backend', `signed message ${messageName}: HTTP 200, code 0, acknowledged`);
    const { token } = payload as unknown as CallCredentialsData;
    let [pictures, resolveLast] = [0, (_jpeg: Uint8Array): void => undefined];
    const lastPicture = new Promise<Uint8Array>((done) => (resolveLast = done));
    const onFrame = (_header: object, payload: Uint8Array): void =>
      void ((pictures += 1) === picturesWanted && resolveLast(new Uint8Array(payload)));
    const connecting = DeviceLeg.connect({ url, tls: tls.media, token, onFrame });
    const leg = await this.#within('a device leg', connecting);
    this.#closes.push(() => leg.terminate());
    leg.accept();
    this.#step('device leg', `connected to ${url} with the token, and accepts the call`);
    const connected = leg.until(({ state }) => state === 'connected');
    await this.#within('the connected call', connected);
    await this.#expectCallStatus('with both legs', true);
    if (opened.ok) await this.#savePicture(await this.#within('pictures', lastPicture), directory);
    phone.stop();
    const { code, reason } = await this.#within('the end of the device leg', leg.closed);
    this.#step('device leg', `closed with ${code} ${reason}`, { close: { code, reason } });
    await this.#within('the end of the bridge', playing);
    await this.#expectCallStatus('after the call', false);
  }

  /** Closes all connections, also after a failure. */
  async close(): Promise<void> {
    for (const close of this.#closes.splice(0).reverse()) await close();
  }

  /** A failure to save the picture does not fail the demo. */
  async #savePicture(jpeg: Uint8Array, directory: string): Promise<void> {
    const size = jpegSize(jpeg) ?? { width: 0, height: 0 };
    const received = `receives JPEGs of ${sizeInWords(size)}, fitted to ${screen.screen_width}×${screen.screen_height}`;
    this.#step('device leg', received, { picture: size });
    const path = join(resolve(directory), 'reveille-demo-picture.jpg');
    const saved = await writeFile(path, jpeg).then(
      () => `picture saved: ${path}`,
      (error: unknown) => `picture not saved: ${messageOf(error)}; name a directory with --pictures`,
    );
    this.#step('demo', saved);
  }

  async #expectConnectivity(phase: string, isRight: (record: ConnectivityData) => boolean): Promise<void> {
    const { api, device } = this.#stage;
    const ask = (): ReturnType<typeof api.connectivity> => api.connectivity(device.deviceId);
    const { signal, sleep } = await this.#expect(`a device that is ${phase}`, ask, isRight);
    const lines = [`signal  ${JSON.stringify(signal)}`, `sleep   ${JSON.stringify(sleep)}`];
    this.#step('backend', `connectivity, ${phase}: HTTP 200, code 0`, { signal, sleep }, lines);
  }

  async #expectCallStatus(phase: string, inCall: boolean): Promise<void> {
    const { api, device } = this.#stage;
    const ask = (): ReturnType<typeof api.callStatus> => api.callStatus(device.deviceId);
    await this.#expect(`in_call ${inCall}`, ask, ({ in_call }) => in_call === inCall);
    this.#step('backend', `call status, ${phase}: HTTP 200, code 0, in_call ${inCall}`);
  }

  /** Repeats the query until its answer is as expected. */
  async #expect<Data>(
    expected: string,
    ask: () => Promise<ApiResult<Data, FailureCode>>,
    isRight: (data: Data) => boolean = () => true,
  ): Promise<Data> {
    const { clock } = this.#stage;
    for (const untilMs = clock.monotonicMs() + patienceMs; ; await pause(clock, askAgainMs)) {
      const result = await ask();
      if (result.ok && isRight(result.data)) return result.data;
      if (!result.ok || clock.monotonicMs() > untilMs)
        throw new DemoFailure(`expected ${expected}; got ${JSON.stringify(result)}`);
    }
  }

  #within<Value>(expected: string, coming: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const fail = (got: string): void => reject(new DemoFailure(`expected ${expected}; got ${got}`));
      const cancel = this.#stage.clock.after(patienceMs, () => fail('nothing in time'));
      coming.then(resolve, (error: Error) => fail(error.message)).finally(cancel);
    });
  }
}
