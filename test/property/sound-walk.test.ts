/**
 * Random walks of sound through a session in the relay: legs and listeners that connect, disconnect, change their formats, and
 * read or do not; packets of all formats in bursts, with timestamps that jump; transcoders that are refused, or answer late or
 * badly. Every message is checked when it is sent, and the counters at the end. A failure prints its seed and path: pass both
 * to `fc.assert` to repeat it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { audioFrameFormats, type AudioFrameFormat, type SoundShape } from '../../src/model/media/sound.ts';
import { audioOnlyMedia } from '../support/call-scene.ts';
import { madeOf } from '../support/fake-transcoders.ts';
import { RelayScene, type FakeLeg } from '../support/relay-scene.ts';

type Side = 'bridge' | 'device';
type Step =
  | { readonly what: 'join'; readonly who: Side | 'listener' }
  | { readonly what: 'leave' | 'read' | 'flush'; readonly which: number }
  | { readonly what: 'wish'; readonly format: AudioFrameFormat | null }
  | {
      readonly what: 'audio';
      readonly side: Side;
      readonly format: AudioFrameFormat;
      readonly count: number;
      readonly everyMs: number;
    }
  | { readonly what: 'answer'; readonly how: 'well' | 'nothing' | 'many' | 'undecodable' | 'engine' }
  | { readonly what: 'refuse'; readonly refusal: 'load' | 'engine' | null }
  | { readonly what: 'pass'; readonly ms: number };

const side = fc.constantFrom<Side>('bridge', 'bridge', 'device');
const format = fc.constantFrom(...audioFrameFormats);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant('join'), who: fc.constantFrom('bridge', 'device', 'listener') }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constantFrom('read', 'flush', 'flush', 'leave'),
      which: fc.nat(3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('wish'), format: fc.option(format) }) },
  {
    weight: 9,
    arbitrary: fc.record({
      what: fc.constant('audio'),
      side,
      format,
      count: fc.constantFrom(1, 2, 40, 130),
      everyMs: fc.constantFrom(20, 20, 0, 60, -20, 700, 2 ** 31),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      what: fc.constant('answer'),
      how: fc.constantFrom('well', 'well', 'well', 'nothing', 'many', 'undecodable', 'engine'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('refuse'), refusal: fc.constantFrom('load', 'engine', null) }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('pass'), ms: fc.constantFrom(1, 500, 1000) }) },
);

interface Present {
  readonly who: Side | 'listener';
  readonly leg: FakeLeg;
  /** Number of checked messages. */
  judged: number;
}

const own: SoundShape = { format: 'alaw', rate: 8000, channels: 1 };
const listened: SoundShape = { format: 'opus', rate: 48_000, channels: 2 };

class SoundWalk {
  readonly #scene = new RelayScene(audioOnlyMedia);
  readonly #seen: Map<string, number>;
  readonly #sentAs = new Map<string, AudioFrameFormat>();
  #present: Present[] = [];
  /** Formats that the bridge has requested and may still receive; null: as sent. */
  #wishes: (AudioFrameFormat | null)[] = [null];
  #atMs = 0;

  constructor(seen: Map<string, number>) {
    this.#seen = seen;
  }

  async runStep(taken: Step): Promise<void> {
    await this.#perform(taken);
    for (const present of this.#present) this.#judge(present);
    assert.ok(this.#counted <= this.#sentAs.size, 'no packet is counted twice');
  }

  async end(): Promise<void> {
    for (const { leg } of this.#present) {
      leg.readAll();
      leg.leave();
    }
    const { transcoders, relay, counts } = this.#scene;
    for (const transcoder of transcoders.openedSound) if (transcoder.isWorking) await transcoder.answer();
    assert.equal(relay.sessionCount, 0);
    assert.ok(
      transcoders.openedSound.every(({ isClosed }) => isClosed),
      'no transcoder is kept',
    );
    assert.equal(this.#counted, this.#sentAs.size, 'every packet is counted once');
    for (const [result, count] of Object.entries(counts))
      this.#seen.set(result, (this.#seen.get(result) ?? 0) + count);
  }

  get #counted(): number {
    return Object.values(this.#scene.counts).reduce((sum, count) => sum + count, 0);
  }

  async #perform(taken: Step): Promise<void> {
    const { transcoders, clock } = this.#scene;
    switch (taken.what) {
      case 'join':
        return this.#join(taken.who);
      case 'leave':
        return this.#leave(this.#present.at(taken.which));
      case 'read':
        this.#present.at(taken.which)?.leg.read();
        return;
      case 'flush':
        return this.#flush(this.#present.at(taken.which));
      case 'wish':
        return this.#wish(taken.format);
      case 'audio':
        return this.#send(taken);
      case 'answer':
        for (const each of transcoders.openedSound) if (each.isWorking) await this.#answer(each, taken.how);
        return;
      case 'refuse':
        transcoders.refusal = taken.refusal;
        return;
      case 'pass':
        clock.advance(taken.ms);
    }
  }

  #join(who: Present['who']): void {
    if (who !== 'listener') this.#present = this.#present.filter((present) => present.who !== who);
    else if (this.#present.filter((present) => present.who === who).length >= 2) return;
    if (who === 'bridge') this.#wishes = [null];
    const leg = who === 'listener' ? this.#scene.liveViewer(() => listened).source : this.#scene[who]();
    this.#present.push({ who, leg, judged: 0 });
  }

  #leave(present: Present | undefined): void {
    present?.leg.leave();
    this.#present = this.#present.filter((each) => each !== present);
  }

  /** From now on the last requested format applies. */
  #flush(present: Present | undefined): void {
    if (present === undefined) return;
    present.leg.readAll();
    this.#judge(present);
    if (present.who === 'bridge') this.#wishes = this.#wishes.slice(-1);
  }

  #wish(wanted: AudioFrameFormat | null): void {
    const bridge = this.#present.find(({ who }) => who === 'bridge');
    if (bridge === undefined) return;
    bridge.leg.leg.wants({ audio: wanted === null ? null : { ...own, format: wanted }, video: null });
    this.#wishes.push(wanted);
  }

  #send({ side: from, format: as, count, everyMs }: Extract<Step, { what: 'audio' }>): void {
    const sender = this.#present.find(({ who }) => who === from);
    if (sender === undefined) return;
    for (let n = 0; n < count; n += 1) {
      const name = `p${this.#sentAs.size}.`;
      this.#sentAs.set(name, as);
      this.#atMs = (this.#atMs + everyMs + 2 ** 32) % 2 ** 32;
      sender.leg.audio(name, this.#atMs, as);
    }
  }

  async #answer(
    transcoder: RelayScene['transcoders']['openedSound'][number],
    how: Extract<Step, { what: 'answer' }>['how'],
  ): Promise<void> {
    const taken = transcoder.taken.at(-1);
    assert.ok(taken !== undefined);
    const { packet, targets } = taken;
    if (how === 'undecodable' || how === 'engine') return transcoder.answer({ drop: how });
    const times = how === 'nothing' ? [] : how === 'many' ? [0, 20, 40, 60] : [0];
    const packets = targets.map((target) =>
      times.map((after) => madeOf(packet, target, (packet.timestampMs + after) % 2 ** 32)),
    );
    await transcoder.answer({ packets });
  }

  /** Each listener receives only its own format, and forwarded packets are unchanged. */
  #judge(present: Present): void {
    for (const { header, text } of present.leg.messages.slice(present.judged)) {
      assert.ok(header?.kind === 'audio');
      const name = /p\d+\.$/.exec(text)?.[0] ?? '';
      const sentAs = this.#sentAs.get(name);
      assert.ok(sentAs !== undefined, 'it was sent');
      if (text === name) assert.equal(header.format, sentAs, 'what passes is untouched');
      else assert.ok(text.startsWith(`${header.format} `), 'what is made is what its header says');
      if (present.who === 'device') assert.equal(header.format, own.format);
      if (present.who === 'listener') assert.equal(header.format, listened.format);
      if (present.who === 'bridge')
        assert.ok(
          this.#wishes.includes(null) || this.#wishes.includes(header.format),
          'the bridge asked for it',
        );
    }
    present.judged = present.leg.messages.length;
  }
}

test('every listener receives its own format, and every packet is counted once', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 80, size: 'max' }), async (steps) => {
      const walk = new SoundWalk(seen);
      await walk.runStep({ what: 'join', who: 'bridge' });
      for (const each of steps) await walk.runStep(each);
      await walk.end();
    }),
    { numRuns: 150 },
  );
  const reached = [
    'audio',
    'transcoded',
    'undecodable',
    'engine',
    'slow_leg',
    'load',
    'unsupported',
    'no_receiver',
  ];
  for (const result of reached) assert.ok((seen.get(result) ?? 0) > 0, `the walks come to ${result}`);
});
