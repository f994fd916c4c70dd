/** The pictures and the sound of a call, reopened when they are lost: by WebRTC, or if that fails by two MJPEG streams without sound. */
import type { CallJson, MediaViewJson } from '../../gateways/admin/call-routes.ts';
import type { MediaLinksJson } from '../../gateways/console/call-page.ts';
import { el } from '../dom.ts';
import { button } from '../page.ts';
import { type Delays, LiveConnection, type StreamName } from './live-connection.ts';
import { shownAs, Stage } from './stage.ts';
import type { WatchedCall } from './watched-call.ts';

const openEveryChecks = 5;
const unseenChecksMax = 2;

const scalings: Readonly<Record<string, string>> = {
  auto: 'no larger than the picture (auto)',
  fit_screen: 'the whole picture (fit_screen)',
  fill_screen: 'filled, the rest cut off (fill_screen)',
};

type Way =
  | { readonly kind: 'closed' | 'none' }
  | { readonly kind: 'WebRTC'; readonly live: LiveConnection }
  | { readonly kind: 'MJPEG'; readonly broken: Set<StreamName> };

export class CallPictures {
  readonly stages: Readonly<Record<StreamName, Stage>>;
  readonly sound = button('Sound', () => this.#turnSound());
  readonly audio = el('audio', {});
  readonly #call: WatchedCall;
  #way: Way = { kind: 'none' };
  #isOpening = false;
  #isReachable = true;
  #unseenChecks = 0;
  #checksSinceOpened = openEveryChecks;

  constructor(call: WatchedCall) {
    this.#call = call;
    const stage = (name: StreamName, heading: string, meaning: string): Stage =>
      new Stage(name, heading, meaning, () => {
        if (this.#way.kind === 'MJPEG') this.#way.broken.add(name);
      });
    this.stages = {
      source: stage('source', 'From the phone', 'Picture that the phone sends'),
      output: stage('output', 'On the device’s screen', 'Picture that the device shows on its screen'),
      camera: stage('camera', 'From the device’s camera', 'Picture that the device sends'),
    };
    this.sound.setAttribute('aria-pressed', 'false');
    this.#wayChanged({ kind: 'none' });
  }

  get way(): 'closed' | 'not open' | 'WebRTC' | 'MJPEG' {
    return this.#way.kind === 'none' ? 'not open' : this.#way.kind;
  }

  /** Called once a second. `view` null: the media process does not know the call yet. */
  check(media: CallJson['media'], view: MediaViewJson | null): void {
    if (view !== null) this.#checkViewers(view.viewers);
    this.#openWhenDue(!media.no_video);
    this.#show(media, view);
  }

  #openWhenDue(hasVideo: boolean): void {
    this.#checksSinceOpened += 1;
    const isOpen = this.#way.kind === 'MJPEG' ? this.#way.broken.size === 0 : this.#way.kind !== 'none';
    if (isOpen || this.#isOpening || this.#checksSinceOpened <= openEveryChecks) return;
    this.#checksSinceOpened = 0;
    this.#isOpening = true;
    // The page's next check reports the same error.
    void this.#open(hasVideo)
      .catch(() => undefined)
      .finally(() => (this.#isOpening = false));
  }

  /** A restarted media process has forgotten its viewers, which the browser reports late or never. */
  #checkViewers(viewers: number): void {
    this.#unseenChecks = viewers > 0 || this.#way.kind === 'none' ? 0 : this.#unseenChecks + 1;
    if (this.#unseenChecks >= unseenChecksMax) this.#lose();
  }

  #show(media: CallJson['media'], view: MediaViewJson | null): void {
    const { source = null, output = null, camera = null } = view ?? {};
    for (const name of ['source', 'output'] as const) this.stages[name].element.hidden = media.no_video;
    this.stages.camera.element.hidden = camera === null;
    const { screen_width: width, screen_height: height, down_video_mt: format, video_res_mode: mode } = media;
    const screen = width === null || height === null ? null : { width, height };
    const target =
      screen === null ? 'a device that named no screen' : `${screen.width}×${screen.height} pixels`;
    this.stages.output.frame(screen, `${target}, ${scalings[mode] ?? mode}, as ${format}`);
    for (const [name, stream] of Object.entries({ source, output, camera }))
      this.stages[name as StreamName].showFigures(stream);
    const formats = { source: source?.format ?? null, device: format };
    for (const [name, stage] of Object.entries(this.stages) as [StreamName, Stage][])
      stage.show(shownAs(name, this.#way.kind === 'WebRTC', formats), this.#faultOf(name));
  }

  async delays(): Promise<Delays | null> {
    return this.#way.kind === 'WebRTC' ? this.#way.live.delays().catch(() => null) : null;
  }

  close(): void {
    this.#closeLive();
    this.#wayChanged({ kind: 'closed' });
    for (const stage of Object.values(this.stages)) stage.end();
  }

  async #open(hasVideo: boolean): Promise<void> {
    const links = await this.#call.ask<MediaLinksJson>('POST', '/watch/links');
    if (this.#way.kind === 'none' && this.#isReachable && (await this.#openLive(links.live))) return;
    if (!hasVideo || this.way === 'closed') return;
    for (const name of ['source', 'output'] as const)
      if (this.#way.kind !== 'MJPEG' || this.#way.broken.has(name)) this.stages[name].load(links[name]);
    this.#wayChanged({ kind: 'MJPEG', broken: new Set() });
  }

  /** False: WebRTC is not available. */
  async #openLive(link: string): Promise<boolean> {
    const opened = await LiveConnection.open(link, {
      addTrack: (track) => this.#play(track),
      showPicture: (stream, jpeg) => this.stages[stream].draw(jpeg),
      lost: () => this.#lose(),
    });
    if (opened === 'unreachable') this.#isReachable = false;
    if (typeof opened === 'string') return false;
    if (this.way === 'closed') opened.close();
    else {
      this.#wayChanged({ kind: 'WebRTC', live: opened });
      if (this.#isHeard) opened.setSound(true);
    }
    return true;
  }

  /** One video element shows both streams if the device accepts the source unchanged. */
  #play(track: MediaStreamTrack): void {
    const stream = new MediaStream([track]);
    if (track.kind === 'audio') this.audio.srcObject = stream;
    else for (const stage of Object.values(this.stages)) stage.play(stream);
  }

  /** The next check reopens it at once. */
  #lose(): void {
    if (this.way === 'closed') return;
    this.#closeLive();
    for (const stage of Object.values(this.stages)) stage.load(null);
    this.#checksSinceOpened = openEveryChecks;
    this.#wayChanged({ kind: 'none' });
  }

  #closeLive(): void {
    if (this.#way.kind === 'WebRTC') this.#way.live.close();
  }

  #wayChanged(way: Way): void {
    this.#way = way;
    this.#unseenChecks = 0;
    this.sound.disabled = way.kind !== 'WebRTC';
    this.sound.title = way.kind === 'WebRTC' ? '' : 'Sound needs WebRTC';
  }

  get #isHeard(): boolean {
    return this.sound.getAttribute('aria-pressed') === 'true';
  }

  #turnSound(): void {
    const isOn = !this.#isHeard;
    this.sound.setAttribute('aria-pressed', String(isOn));
    this.audio.muted = !isOn;
    if (isOn) void this.audio.play().catch(() => undefined);
    if (this.#way.kind === 'WebRTC') this.#way.live.setSound(isOn);
  }

  /** Null: the stream is open, or is being opened. */
  #faultOf(name: StreamName): string | null {
    const way = this.#way;
    if (this.#isOpening || way.kind === 'WebRTC') return null;
    if (way.kind === 'MJPEG' && name === 'camera') return 'This picture needs WebRTC.';
    const isBroken = way.kind !== 'MJPEG' || way.broken.has(name);
    return isBroken
      ? 'No picture: the media process is unavailable, or two viewers are connected already.'
      : null;
  }
}
