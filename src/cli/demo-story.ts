/**
 * The story: a device falls asleep, a backend wakes it with a signed request, the packet is seen on the wire, and at
 * each step what the API says. Every step has one right end; any other is a DemoFailure. No two wakeups are alike:
 * within one second they would have one signature, and the second would be a repeat of the first.
 */
import type { Clock } from '../base/clock.ts';
import type { WakeMode } from '../domain/sleep.ts';
import { parseListenAddress } from '../server/settings-values.ts';
import { sendApiRequest, type ApiAnswer } from './api-request.ts';
import { DemoFailure } from './demo-failure.ts';
import type { DemoStage } from './demo-stage.ts';
import { spacedHex } from './fleet-report.ts';
import { SleepingModule } from './sleeping-module.ts';
import type { Timeline } from './timeline.ts';
import { wakeupBody, wakeupTarget } from './wake-command.ts';

const fixedPacket = '98 3b 16 f8 f3 9c 00 00';
const customPacket = '98 3b 16 f8 f3 9c 12 ab';

export async function playDemo(stage: DemoStage, timeline: Timeline, clock: Clock): Promise<void> {
  const story = new Story(stage, timeline, clock);
  await story.expectConnectivity('before', 'no login yet', (sleep) => sleep.last_login_at === null);
  const module = await story.fallAsleep('custom');
  await story.expectConnectivity('asleep', 'a login, no heartbeat', (sleep) => sleep.last_login_at !== null);
  module.heartbeat();
  timeline.tell('module', 'heartbeat: 64 bytes, no answer');
  await story.expectConnectivity('asleep', 'the heartbeat', (sleep) => sleep.last_heartbeat_at !== null);
  await story.expectPacket(module, undefined, fixedPacket);
  await story.expectPacket(module, '0x12aB', customPacket);

  const fixed = await story.fallAsleep('fixed');
  await story.within('the end of the older connection', module.closed);
  timeline.tell('module', 'the older connection of the device was closed: a newer login replaces it');
  await story.expectCode(40902, '0x0001', 'a fixed module takes no custom data');
  await fixed.close();
  timeline.tell('module', 'hung up: the controller is awake');
  await story.expectConnectivity(
    'awake',
    'the end of the session',
    (sleep) => sleep.last_offline_at !== null,
  );
  await story.expectCode(40412, '0x0002', 'nobody sleeps there');
}

/** As the API has them: whole Unix seconds, or null. */
interface SleepTimes {
  readonly last_login_at: number | null;
  readonly last_heartbeat_at: number | null;
  readonly last_offline_at: number | null;
}

/** What anybody sends is under way for a moment: it is waited for, or asked for again, this long. */
const patienceMs = 5000;
const askAgainMs = 20;

class Story {
  readonly #stage: DemoStage;
  readonly #timeline: Timeline;
  readonly #clock: Clock;

  constructor(stage: DemoStage, timeline: Timeline, clock: Clock) {
    this.#stage = stage;
    this.#timeline = timeline;
    this.#clock = clock;
  }

  async fallAsleep(wakeMode: WakeMode): Promise<SleepingModule> {
    const { sleep, device } = this.#stage;
    const address = parseListenAddress(sleep);
    if (address === null) throw new DemoFailure('the sleep server as host:port', sleep);
    const options = { ...device, wakeMode, heartbeatSeconds: 15, host: address.host };
    const module = await this.within('a login', SleepingModule.connect(address.port, options));
    this.#timeline.tell(
      'module',
      `logged in as ${device.deviceId}, wake mode ${wakeMode}: the device is asleep`,
    );
    return module;
  }

  async expectConnectivity(
    phase: string,
    expected: string,
    isRight: (sleep: SleepTimes) => boolean,
  ): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + patienceMs;
    for (;;) {
      const answer = await this.#ask();
      const data = answer.json?.['data'] as { readonly sleep?: SleepTimes } | undefined;
      if (answer.code !== 0 || data?.sleep === undefined)
        throw new DemoFailure(`connectivity with ${expected}`, answer.text);
      if (isRight(data.sleep)) return this.#tellConnectivity(phase, data.sleep);
      if (this.#clock.monotonicMs() > untilMs)
        throw new DemoFailure(`connectivity with ${expected}`, data.sleep);
      await this.#pause();
    }
  }

  /** Wakes the device and sees the packet arrive, byte for byte. */
  async expectPacket(
    module: SleepingModule,
    customData: string | undefined,
    expected: string,
  ): Promise<void> {
    const sentMs = this.#clock.monotonicMs();
    const arrival = module
      .nextPacket()
      .then((packet) => ({ packet, ms: this.#clock.monotonicMs() - sentMs }));
    arrival.catch(() => undefined);
    const answer = await this.#wake(customData);
    if (answer.status !== 202 || answer.code !== 0) throw new DemoFailure('HTTP 202, code 0', answer.text);
    this.#timeline.tell('backend', `signed wakeup${withData(customData)}: HTTP 202, code 0`, {
      answer: answer.json,
    });
    const { packet, ms } = await this.within(`the packet ${expected}`, arrival);
    const bytes = spacedHex(packet);
    if (bytes !== expected) throw new DemoFailure(`the packet ${expected}`, bytes);
    this.#timeline.tell(
      'module',
      `packet on the wire: ${bytes}, ${ms.toFixed(1)} ms after the request began`,
      { packet: bytes },
    );
  }

  async expectCode(code: number, customData: string | undefined, why: string): Promise<void> {
    const answer = await this.#wake(customData);
    if (answer.code !== code) throw new DemoFailure(`code ${code}: ${why}`, answer.text);
    const said = `signed wakeup${withData(customData)}: HTTP ${answer.status}, code ${code}: ${why}`;
    this.#timeline.tell('backend', said, { answer: answer.json });
  }

  /** What comes in time; otherwise a DemoFailure. */
  within<Value>(expected: string, coming: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const fail = (got: string): void => reject(new DemoFailure(expected, got));
      const cancel = this.#clock.after(patienceMs, () => fail(`nothing within ${patienceMs / 1000} s`));
      coming.then(resolve, (error: Error) => fail(error.message)).finally(cancel);
    });
  }

  #ask(): Promise<ApiAnswer> {
    const { api, credential, device } = this.#stage;
    const target = { path: '/v1/device/connectivity', rawQuery: `device_id=${device.deviceId}` };
    return sendApiRequest(
      { origin: `http://${api}`, credential, method: 'GET', target, body: null },
      this.#clock,
    );
  }

  #wake(customData: string | undefined): Promise<ApiAnswer> {
    const { api, credential, device } = this.#stage;
    const body = wakeupBody(device.deviceId, customData);
    const request = { origin: `http://${api}`, credential, method: 'POST', target: wakeupTarget, body };
    return sendApiRequest(request, this.#clock);
  }

  #tellConnectivity(phase: string, sleep: SleepTimes): void {
    const { last_login_at: login, last_heartbeat_at: heartbeat, last_offline_at: offline } = sleep;
    const times = `login ${login ?? '-'}, heartbeat ${heartbeat ?? '-'}, offline ${offline ?? '-'}`;
    this.#timeline.tell('backend', `connectivity, ${phase}: ${times}`, { sleep });
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(askAgainMs, resolve);
    });
  }
}

function withData(customData: string | undefined): string {
  return customData === undefined ? '' : ` with custom_data ${customData}`;
}
