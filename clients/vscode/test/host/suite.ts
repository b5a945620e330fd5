/** Everything that is tested inside the extension host. */

import "./pure";
import "./review";
import "./queue";
import "./documents";
import "./palette";
import "./life";
