import type { PictureItem } from "../api/views";
import { counted } from "../format/number";
import { Bed } from "../ui/parts";

/** A picture out of tiles. Its address changes with each tile, so that it fills up while one looks. */
export function Mosaic({ picture }: { picture: PictureItem }) {
  const join = picture.href.includes("?") ? "&" : "?";
  const whole = picture.done === picture.tiles;
  return (
    <Bed title={`Picture of ${picture.task}`} lead={whole ? `Put together out of ${counted(picture.tiles, "tile")}.` : `${picture.done} of ${counted(picture.tiles, "tile")} are here.`}>
      <img className="mosaic" src={`${picture.href}${join}done=${picture.done}`} alt={`${picture.task}, ${picture.done} of ${picture.tiles} tiles`} />
    </Bed>
  );
}
