// A text as a picture for phones, drawn here: the secret in it goes nowhere.
import qrcode from "qrcode-generator";

/** The dark and light squares of the picture. */
export function modules(text: string): boolean[][] {
  const code = qrcode(0, "M");
  code.addData(text);
  code.make();
  const size = code.getModuleCount();
  return Array.from({ length: size }, (_, row) => Array.from({ length: size }, (_, column) => code.isDark(row, column)));
}
