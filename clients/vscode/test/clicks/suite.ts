/** What a person does with mouse and keys, in the installed extension with the real daemon and a scripted model. */

import "./shared";
import "./review";
import "./turn";
import "./page";
import "./prompt";
import "./editor";
import "./conversations";
import "./scrolling";
import "./walkthrough";
import "./windows";
