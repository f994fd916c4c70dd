/** One stream of a call: its picture and its figures. */
import type { StreamViewJson } from '../../gateways/admin/call-routes.ts';
import { el, freshId, setText } from '../dom.ts';
import { formatCount } from '../text.ts';
import type { StreamName } from './live-connection.ts';

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Pixels available to a device's screen, within the figure's padding and frame. */
const screenSpace: Size = { width: 500, height: 330 };
const aroundScreen = 56;

/** `image`: an MJPEG stream; `video`: H.264 by WebRTC; `canvas`: single pictures by WebRTC. */
export type Shown = 'image' | 'video' | 'canvas';

/** The element that shows a stream. `source`: the phone's format, null if unknown yet; `device`: the device's format. */
export function shownAs(
  stream: StreamName,
  isLive: boolean,
  formats: { readonly source: string | null; readonly device: string },
): Shown {
  if (!isLive) return 'image';
  if (stream === 'camera') return 'canvas';
  const format = stream === 'source' ? (formats.source ?? 'h264') : formats.device;
  return format === 'h264' ? 'video' : 'canvas';
}

export class Stage {
  readonly element: HTMLElement;
  readonly #image: HTMLImageElement;
  readonly #video: HTMLVideoElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #shown: HTMLElement;
  readonly #caption = el('span', { class: 'faint' });
  readonly #note = el('p', { class: 'missing', 'data-missing': '' }, 'No picture yet.');
  readonly #figures: readonly HTMLElement[];
  #next: ArrayBuffer | null = null;
  #isDrawing = false;

  constructor(name: StreamName, heading: string, meaning: string, failed: () => void) {
    this.#image = el('img', { alt: meaning, error: failed });
    this.#video = el('video', { 'aria-label': meaning, autoplay: true, playsinline: true });
    this.#video.muted = true;
    this.#canvas = el('canvas', { role: 'img', 'aria-label': meaning });
    this.#shown = el('div', { class: 'shown', 'data-stage': name }, this.#image, this.#video, this.#canvas);
    const figures = ['format', 'size', 'frames', 'rate'];
    this.#figures = figures.map((figure) => el('dd', { 'data-show': `${name} ${figure}` }, '–'));
    const terms = this.#figures.map((value, at) => el('div', {}, el('dt', {}, figures[at] ?? ''), value));
    const id = freshId();
    this.element = el(
      'figure',
      { class: 'stream', 'aria-labelledby': id },
      el('figcaption', {}, el('h2', { id }, heading), ' ', this.#caption),
      el('div', { class: 'picture' }, this.#shown),
      this.#note,
      el('dl', { class: 'facts' }, ...terms),
    );
    this.show('image', null);
  }

  /** Frames the picture like the device's screen, scaled by whole pixels if possible, so that a smaller picture is visible as such. */
  frame(screen: Size | null, caption: string): void {
    setText(this.#caption, caption);
    this.#shown.classList.add('screen');
    if (screen === null) return;
    const width = Math.min(screenSpace.width, this.element.clientWidth - aroundScreen);
    const zoom = Math.min(width / screen.width, screenSpace.height / screen.height);
    const { style } = this.#shown;
    style.setProperty('--width', `${screen.width}px`);
    style.setProperty('--height', `${screen.height}px`);
    style.setProperty('--zoom', String(zoom >= 2 ? Math.floor(zoom) : zoom.toFixed(3)));
  }

  /** `fault`: the reason why the stream is not shown; null: it is open. */
  show(shown: Shown, fault: string | null): void {
    const elements = { image: this.#image, video: this.#video, canvas: this.#canvas };
    for (const [name, element] of Object.entries(elements)) element.hidden = name !== shown;
    const { naturalWidth } = this.#image;
    const isSeen = { image: naturalWidth > 0, video: this.#video.videoWidth > 0, canvas: this.#isDrawn };
    this.#note.hidden = isSeen[shown] && fault === null;
    setText(this.#note, fault ?? 'No picture yet.');
  }

  showFigures(stream: StreamViewJson | null): void {
    const { width = null, height = null } = stream ?? {};
    const texts = [
      stream?.format ?? '–',
      width === null || height === null ? '–' : `${width}×${height}`,
      stream === null ? '–' : `${stream.frames_per_second.toFixed(1)} fps`,
      stream === null ? '–' : `${formatCount(Math.round((stream.bytes_per_second * 8) / 1000))} kbit/s`,
    ];
    for (const [at, value] of this.#figures.entries()) setText(value, texts[at] ?? '');
  }

  play(stream: MediaStream): void {
    this.#video.srcObject = stream;
  }

  load(link: string | null): void {
    if (link === null) this.#image.removeAttribute('src');
    else this.#image.src = link;
  }

  /** While a picture is being decoded, only the newest of the following ones is kept. */
  draw(jpeg: ArrayBuffer): void {
    this.#next = jpeg;
    if (!this.#isDrawing) void this.#drawNext();
  }

  /** Keeps the last picture and hides the note. */
  end(): void {
    this.#shown.classList.add('over');
    this.#note.hidden = true;
  }

  get #isDrawn(): boolean {
    return 'drawn' in this.#canvas.dataset;
  }

  async #drawNext(): Promise<void> {
    this.#isDrawing = true;
    const canvas = this.#canvas;
    while (this.#next !== null) {
      const jpeg = new Blob([this.#next], { type: 'image/jpeg' });
      this.#next = null;
      try {
        const bitmap = await createImageBitmap(jpeg);
        if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
        if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
        canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
        bitmap.close();
        canvas.dataset['drawn'] = '';
      } catch {
        // The picture was corrupt: wait for the next one.
      }
    }
    this.#isDrawing = false;
  }
}
