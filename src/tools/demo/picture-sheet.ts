/**
 * The demo's pictures side by side, each with a caption: the phone's as it is, those of the device on its black screen, enlarged
 * by whole pixels, so that nothing is smoothed that was not.
 */
import type { Size } from '../../model/call.ts';
import { decodeJpeg, type RgbPicture } from '../../media/codec/picture-file.ts';
import type { Engine } from '../../media/codec/engine.ts';
import { textBlocks } from '../bridge/bitmap-font.ts';
import { sizeInWords } from '../bridge/bridge-report.ts';
import type { ReceivedPicture } from './demo-pictures.ts';

export const deviceScreen: Size = { width: 160, height: 100 };

export interface NamedPicture extends ReceivedPicture {
  readonly name: string;
}

/** Pixels of the sheet for one of the screen. */
const enlargement = 3;
/** Of a block of the font. */
const letterPixels = 2;
const margin = 16;
const lineHeight = 18;
const captionHeight = 2 * lineHeight + 6;

const ground = [34, 39, 46] as const;
const black = [0, 0, 0] as const;
const bright = [230, 235, 241] as const;
const faint = [150, 160, 172] as const;

type Color = readonly [red: number, green: number, blue: number];

interface Panel {
  readonly title: string;
  readonly caption: string;
  readonly size: Size;
  draw(canvas: Canvas, x: number, y: number): void;
}

export function pictureSheet(
  engine: Engine,
  phone: ReceivedPicture,
  received: readonly NamedPicture[],
): RgbPicture {
  const panels = [
    phonePanel(decodeJpeg(engine, phone.jpeg)),
    ...received.map((one) => screenPanel(engine, one)),
  ];
  const width = panels.reduce((sum, { size }) => sum + size.width + margin, margin);
  const height = Math.max(...panels.map(({ size }) => size.height)) + captionHeight + 2 * margin;
  const canvas = new Canvas({ width, height });
  let x = margin;
  for (const panel of panels) {
    canvas.text(panel.title, x, margin, bright);
    canvas.text(panel.caption, x, margin + lineHeight, faint);
    panel.draw(canvas, x, margin + captionHeight);
    x += panel.size.width + margin;
  }
  return canvas;
}

function phonePanel(picture: RgbPicture): Panel {
  const caption = sizeInWords(picture.size);
  const draw = (canvas: Canvas, x: number, y: number): void => canvas.picture(picture, x, y, 1);
  return { title: 'The phone sends', caption, size: picture.size, draw };
}

function screenPanel(engine: Engine, { name, jpeg }: NamedPicture): Panel {
  const picture = decodeJpeg(engine, jpeg);
  const size = { width: deviceScreen.width * enlargement, height: deviceScreen.height * enlargement };
  return {
    title: `The device shows: ${name}`,
    caption: `${sizeInWords(picture.size)} on a screen of ${sizeInWords(deviceScreen)}, enlarged ${enlargement} times`,
    size,
    draw: (canvas, x, y) => {
      const [left, top] = [size.width, size.height].map((side, axis) => {
        const taken = enlargement * (axis === 0 ? picture.size.width : picture.size.height);
        return Math.floor((side - taken) / 2);
      });
      canvas.fill(x, y, size, black);
      canvas.picture(picture, x + (left ?? 0), y + (top ?? 0), enlargement);
    },
  };
}

class Canvas implements RgbPicture {
  readonly size: Size;
  readonly rgb: Uint8Array<ArrayBuffer>;

  constructor(size: Size) {
    this.size = size;
    this.rgb = new Uint8Array(size.width * size.height * 3);
    this.fill(0, 0, size, ground);
  }

  fill(x: number, y: number, { width, height }: Size, color: Color): void {
    for (let row = y; row < y + height; row += 1)
      for (let column = x; column < x + width; column += 1)
        this.rgb.set(color, (row * this.size.width + column) * 3);
  }

  text(text: string, x: number, y: number, color: Color): void {
    const letter = { width: letterPixels, height: letterPixels };
    for (const block of textBlocks(text))
      this.fill(x + block.x * letterPixels, y + block.y * letterPixels, letter, color);
  }

  /** Each of its pixels becomes a square of `scale` by `scale`. */
  picture({ size, rgb }: RgbPicture, x: number, y: number, scale: number): void {
    const square = { width: scale, height: scale };
    for (let row = 0; row < size.height; row += 1)
      for (let column = 0; column < size.width; column += 1) {
        const [red = 0, green = 0, blue = 0] = rgb.subarray((row * size.width + column) * 3);
        this.fill(x + column * scale, y + row * scale, square, [red, green, blue]);
      }
  }
}
