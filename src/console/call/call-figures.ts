/** The figures of a call: results of its frames and packets, delays, and requests. */
import type { MediaViewJson } from '../../gateways/admin/call-routes.ts';
import type { MediaFrameResult } from '../../model/media/picture.ts';
import { el, setText } from '../dom.ts';
import { dataTable } from '../lists.ts';
import { badge, section } from '../page.ts';
import { formatCount } from '../text.ts';
import type { Delays } from './live-connection.ts';

const results: Readonly<
  Record<MediaFrameResult, readonly [kind: 'sent' | 'skipped' | 'dropped', text: string]>
> = {
  encoded: ['sent', 'encoded as pictures'],
  passed: ['sent', 'video, unchanged'],
  audio: ['sent', 'sound, unchanged'],
  transcoded: ['sent', 'sound, transcoded'],
  undecodable: ['dropped', 'corrupt'],
  too_large: ['dropped', 'larger than the limit'],
  no_key_frame: ['dropped', 'it needs a key frame, which was requested'],
  too_small: ['dropped', 'one side would shrink to nothing'],
  rebuild_failed: ['dropped', 'its scaler, decoder or encoder could not be created'],
  engine: ['dropped', 'its worker crashed'],
  overdue: ['dropped', 'decoding it, or one shortly before, took too long'],
  slow_leg: ['dropped', 'the receiver did not keep up'],
  paced: ['skipped', 'above the frame rate'],
  load: ['dropped', 'no worker had time to convert it'],
  unsupported: ['dropped', 'a format that the device does not support'],
  no_receiver: ['skipped', 'no receiver was connected'],
};

const times = {
  frame: ['Picture delay p50 / p99', 'from the arrival of the frame to its sending'],
  work: ['Worker time p50 / p99', 'the part of the delay spent in a worker'],
  rebuilds: ['Rebuilds', 'scalers and encoders created again after a change of size'],
  keys: ['Key frames requested', 'by receivers that cannot start without one'],
  viewers: ['Viewers', 'at most two: a page counts once by WebRTC, twice by MJPEG'],
  network: [
    'Round trip / jitter buffer',
    'by WebRTC: the network, and the wait in this browser before a frame is shown',
  ],
} as const;
type FigureName = keyof typeof times;

export class CallFigures {
  readonly #frames = el('div', {}, el('p', {}, 'None yet.'));
  readonly #dropped = el('span', { class: 'faint', 'data-show': 'dropped' });
  readonly #values = new Map<string, HTMLElement>();
  readonly element: HTMLElement;

  constructor() {
    const frames = section('Frames and packets', {}, this.#dropped, this.#frames);
    const figures = Object.entries(times).map(([name, [label, meaning]]) => {
      const value = el('dd', { 'data-show': name }, '–');
      this.#values.set(name, value);
      return el('div', {}, el('dt', {}, label), value, el('dd', { class: 'faint' }, meaning));
    });
    const delays = section('Delays and requests', {}, el('dl', { class: 'facts roomy' }, ...figures));
    this.element = el('div', { class: 'halves' }, frames, delays);
  }

  show({ frames, frame_ms: frameMs, work_ms: workMs, ...view }: MediaViewJson): void {
    const counts = (Object.keys(results) as MediaFrameResult[]).filter((result) => frames[result] > 0);
    if (counts.length > 0)
      this.#frames.replaceChildren(
        dataTable('Frames and packets by their result', 'None yet.', counts, [
          { name: 'Result', cell: describeResult },
          { name: 'Count', cell: (result) => formatCount(frames[result]), isNumber: true },
          { name: 'In metrics', cell: (result) => el('code', {}, result), isWide: true },
        ]),
      );
    const dropped = counts.reduce(
      (sum, result) => sum + (results[result][0] === 'dropped' ? frames[result] : 0),
      0,
    );
    setText(this.#dropped, `${formatCount(dropped)} dropped`);
    this.#dropped.className = dropped > 0 ? 'badge bad' : 'faint';
    this.#show('frame', timesText(frameMs));
    this.#show('work', timesText(workMs));
    this.#show('rebuilds', formatCount(view.rebuilds));
    this.#show('keys', formatCount(view.key_frames_asked));
    this.#show('viewers', formatCount(view.viewers));
  }

  /** Null: the page does not use WebRTC. */
  showDelays(delays: Delays | null): void {
    const text = (ms: number | null): string => (ms === null ? '–' : ms.toFixed(0));
    this.#show('network', delays === null ? '–' : `${text(delays.roundTrip)} / ${text(delays.wait)} ms`);
  }

  #show(name: FigureName, text: string): void {
    const value = this.#values.get(name);
    if (value !== undefined) setText(value, text);
  }
}

function describeResult(result: MediaFrameResult): HTMLElement {
  const [kind, text] = results[result];
  const shown = badge(kind, kind === 'sent' ? 'good' : kind === 'dropped' ? 'bad' : 'plain');
  return el('span', { 'data-result': result }, shown, ` ${text}`);
}

function timesText(times: MediaViewJson['frame_ms']): string {
  return times === null ? '–' : `${times.p50.toFixed(1)} / ${times.p99.toFixed(1)} ms`;
}
