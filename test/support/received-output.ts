/** What a command says, heard within the test. */
import type { Output } from '../../src/cli/shell/output.ts';

export class HeardOutput implements Output {
  readonly wantsJson = false;
  /** The last answer. */
  json: unknown = null;
  text = '';
  readonly texts: string[] = [];
  readonly remarks: string[] = [];

  answer(json: unknown, text: string): void {
    this.json = json;
    this.text = text;
    this.texts.push(text);
  }

  remark(text: string): void {
    this.remarks.push(text);
  }
}
