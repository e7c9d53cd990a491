' The edits of an editor, each made by LibreOffice in a copy of an export, which is saved in a form.
Option Explicit

Dim Doc As Object

' `edits` has their names, with commas between them.
Sub Run(source As String, folder As String, form As String, edits As String)
  Dim which As Variant
  Dim saver As String
  If form = "xlsx" Then saver = "Calc MS Excel 2007 XML"
  If form = "ods" Then saver = "calc8"
  For Each which In Split(edits, ",")
    Doc = StarDesktop.loadComponentFromURL(source, "_blank", 0, Array(MakeProperty("Hidden", True)))
    MakeEdit(CStr(which))
    Doc.storeToURL(folder & "/" & which & "." & form, Array(MakeProperty("FilterName", saver)))
    Doc.close(True)
  Next which
  StarDesktop.terminate()
End Sub

Function MakeProperty(key As String, value As Variant) As Object
  Dim made As New com.sun.star.beans.PropertyValue
  made.Name = key
  made.Value = value
  MakeProperty = made
End Function

Function Sheet(tab As String) As Object
  Sheet = Doc.Sheets.getByName(tab)
End Function

Function LastRow(tab As String) As Long
  Dim row As Long
  Do While Sheet(tab).getCellByPosition(0, row + 1).String <> ""
    row = row + 1
  Loop
  LastRow = row
End Function

Function ColumnOf(tab As String, header As String) As Long
  Dim column As Long
  Do While Sheet(tab).getCellByPosition(column, 0).String <> header
    column = column + 1
  Loop
  ColumnOf = column
End Function

' The first row with this slug.
Function RowOf(tab As String, slug As String) As Long
  Dim row As Long
  Do While Sheet(tab).getCellByPosition(0, row).String <> slug
    row = row + 1
  Loop
  RowOf = row
End Function

' `later` counts the rows of a listing in a sheet of lists, from 0.
Function CellOf(tab As String, slug As String, header As String, Optional later As Long) As Object
  Dim row As Long
  row = RowOf(tab, slug)
  If Not IsMissing(later) Then row = row + later
  CellOf = Sheet(tab).getCellByPosition(ColumnOf(tab, header), row)
End Function

Function Price() As Object
  Price = CellOf("listings", "casa-ginebrera", "price_from")
End Function

' A whole row, or a whole column with its header.
Function RowAt(tab As String, row As Long) As Object
  RowAt = Sheet(tab).getCellRangeByPosition(0, row, 60, row)
End Function

Function RangeOf(tab As String, header As String, first As Long, last As Long) As Object
  Dim column As Long
  column = ColumnOf(tab, header)
  RangeOf = Sheet(tab).getCellRangeByPosition(column, first, column, last)
End Function

Sub SortBy(range As Object, column As Long, ascending As Boolean)
  Dim field(0) As New com.sun.star.table.TableSortField
  field(0).Field = column
  field(0).IsAscending = ascending
  range.sort(Array(MakeProperty("SortFields", field()), MakeProperty("ContainsHeader", False)))
End Sub

Sub SortRows(tab As String, header As String, ascending As Boolean)
  SortBy(Sheet(tab).getCellRangeByPosition(0, 1, 60, LastRow(tab)), ColumnOf(tab, header), ascending)
End Sub

Sub InsertRow(tab As String, row As Long)
  Sheet(tab).Rows.insertByIndex(row, 1)
End Sub

' Copies a row into a new one below.
Sub CopyRow(tab As String, slug As String)
  Dim row As Long
  row = RowOf(tab, slug)
  InsertRow(tab, row + 1)
  Sheet(tab).copyRange(Sheet(tab).getCellByPosition(0, row + 1).CellAddress, RowAt(tab, row).RangeAddress)
End Sub

' Inserts an empty column before that of the header.
Function InsertColumn(tab As String, header As String) As Long
  Dim column As Long
  column = ColumnOf(tab, header)
  Sheet(tab).Columns.insertByIndex(column, 1)
  InsertColumn = column
End Function

Sub DeleteColumn(tab As String, header As String)
  Sheet(tab).Columns.removeByIndex(ColumnOf(tab, header), 1)
End Sub

Sub SetFormat(cell As Object, code As String)
  Dim locale As New com.sun.star.lang.Locale
  Dim key As Long
  key = Doc.NumberFormats.queryKey(code, locale, False)
  If key = -1 Then key = Doc.NumberFormats.addNew(code, locale)
  cell.NumberFormat = key
End Sub

Sub ReplaceIn(tab As String, find As String, replacement As String)
  Dim descriptor As Object
  descriptor = Sheet(tab).createReplaceDescriptor()
  descriptor.SearchString = find
  descriptor.ReplaceString = replacement
  Sheet(tab).replaceAll(descriptor)
End Sub

Sub FilterBy(tab As String, header As String, value As String)
  Dim field(0) As New com.sun.star.sheet.TableFilterField
  Dim range As Object
  Dim descriptor As Object
  range = Sheet(tab).getCellRangeByPosition(0, 0, 60, LastRow(tab))
  descriptor = range.createFilterDescriptor(True)
  field(0).Field = ColumnOf(tab, header)
  field(0).Operator = com.sun.star.sheet.FilterOperator.EQUAL
  field(0).StringValue = value
  descriptor.setFilterFields(field())
  descriptor.ContainsHeader = True
  range.filter(descriptor)
End Sub

Sub MakeEdit(which As String)
  Dim column As Long
  Dim row As Long
  Dim text As String
  Select Case which
  Case "saved"
  Case "touched"
    Sheet("listings").getCellByPosition(ColumnOf("listings", "price_from"), 1).Value = 4242
    Sheet("listings").getCellByPosition(ColumnOf("listings", "description.en"), 3).String = "Touched"
  ' Rows
  Case "rows-sorted-by-price"
    SortRows("listings", "price_from", True)
  Case "rows-sorted-by-name"
    SortRows("listings", "name", False)
  Case "photos-sorted-by-address"
    SortRows("photos", "url", False)
  Case "rows-filtered"
    FilterBy("listings", "status", "sold_out")
  Case "rows-filtered-and-edited"
    FilterBy("listings", "status", "listed")
    Price().Value = 295000
  Case "rows-hidden"
    Sheet("listings").Rows.getByIndex(3).IsVisible = False
    Sheet("photos").Rows.getByIndex(4).IsVisible = False
  Case "rows-grouped"
    Sheet("listings").group(RowAt("listings", 3).RangeAddress, com.sun.star.table.TableOrientation.ROWS)
  Case "row-empty"
    InsertRow("listings", 5)
    InsertRow("photos", 9)
  Case "row-new"
    row = LastRow("listings") + 1
    Sheet("listings").getCellByPosition(0, row).String = "casa-nueva"
    Sheet("listings").getCellByPosition(ColumnOf("listings", "name"), row).String = "Casa Nueva"
    Sheet("listings").getCellByPosition(ColumnOf("listings", "status"), row).String = "hidden"
    Sheet("listings").getCellByPosition(ColumnOf("listings", "display_order"), row).Value = 99
  Case "row-copied"
    CopyRow("listings", "casa-ginebrera")
    Sheet("listings").getCellByPosition(0, RowOf("listings", "casa-ginebrera") + 1).String = "casa-ginebrera-dos"
  Case "row-twice"
    CopyRow("listings", "casa-ginebrera")
  Case "row-moved"
    InsertRow("listings", 30)
    Sheet("listings").moveRange(Sheet("listings").getCellByPosition(0, 30).CellAddress, RowAt("listings", 3).RangeAddress)
  Case "row-deleted"
    Sheet("listings").Rows.removeByIndex(RowOf("listings", "casa-ginebrera"), 1)
  Case "photo-deleted"
    Sheet("photos").Rows.removeByIndex(RowOf("photos", "casa-ginebrera") + 1, 1)
  Case "photo-copied"
    CopyRow("photos", "casa-ginebrera")
    CellOf("photos", "casa-ginebrera", "url", 1).String = "https://photos.sample-listings.test/casa-ginebrera/77-new.webp"
    CellOf("photos", "casa-ginebrera", "hero", 1).String = ""
  Case "photo-first"
    CellOf("photos", "casa-ginebrera", "order", 4).Value = 0.5
  Case "photo-to-another-home"
    CellOf("photos", "casa-ginebrera", "listing", 1).String = "villa-azenha"
  Case "photo-address"
    CellOf("photos", "casa-ginebrera", "url").String = "https://photos.sample-listings.test/casa-ginebrera/other.webp"
  Case "photo-addresses-swapped"
    text = CellOf("photos", "casa-ginebrera", "url").String
    CellOf("photos", "casa-ginebrera", "url").String = CellOf("photos", "casa-ginebrera", "url", 1).String
    CellOf("photos", "casa-ginebrera", "url", 1).String = text
  Case "photo-alt-text"
    CellOf("photos", "casa-ginebrera", "alt.fr", 2).String = "La terrasse"
  Case "video-address"
    Sheet("videos").getCellByPosition(ColumnOf("videos", "url"), 1).String = "https://videos.example.com/homes/other.mp4"
  Case "hosts-replaced"
    ReplaceIn("photos", "photos.sample-listings.test", "cdn.example.com")
  Case "column-sorted-alone"
    SortBy(RangeOf("listings", "price_from", 1, LastRow("listings")), 0, True)
  Case "column-shifted"
    column = ColumnOf("listings", "price_from")
    Sheet("listings").insertCells(Sheet("listings").getCellByPosition(column, 1).RangeAddress, com.sun.star.sheet.CellInsertMode.DOWN)
  Case "column-filled-down"
    RangeOf("listings", "city", 1, 3).fillAuto(com.sun.star.sheet.FillDirection.TO_BOTTOM, 1)
  ' Columns
  Case "column-of-notes"
    column = InsertColumn("listings", "status")
    Sheet("listings").getCellByPosition(column, 0).String = "#notes"
    Sheet("listings").getCellByPosition(column, 4).String = "ask Pere"
  Case "column-unknown"
    column = InsertColumn("listings", "status")
    Sheet("listings").getCellByPosition(column, 0).String = "Remarks"
  Case "remark-beside"
    Sheet("listings").getCellByPosition(50, 4).String = "ask Pere"
  Case "column-moved"
    column = InsertColumn("listings", "name")
    Sheet("listings").moveRange(Sheet("listings").getCellByPosition(column, 0).CellAddress, RangeOf("listings", "price_from", 0, LastRow("listings")).RangeAddress)
  Case "column-deleted"
    DeleteColumn("listings", "city")
  Case "ids-deleted"
    DeleteColumn("listings", "id")
    DeleteColumn("photos", "id")
  Case "marks-deleted"
    DeleteColumn("listings", "as of")
    DeleteColumn("photos", "as of")
  Case "columns-hidden"
    Sheet("listings").Columns.getByIndex(4).IsVisible = False
  Case "header-renamed"
    Sheet("listings").getCellByPosition(ColumnOf("listings", "price_from"), 0).String = "price_form"
  Case "header-upper-case"
    Sheet("listings").getCellByPosition(ColumnOf("listings", "price_from"), 0).String = " PRICE_FROM "
  Case "header-twice"
    Sheet("listings").getCellByPosition(ColumnOf("listings", "address"), 0).String = "city"
  ' Sheets
  Case "sheet-own"
    Doc.Sheets.insertNewByName("Owners", 1)
    Sheet("Owners").getCellByPosition(0, 0).String = "Pere"
  Case "sheet-renamed"
    Price().Value = 295000
    Sheet("listings").Name = "Homes"
  Case "sheet-deleted"
    Doc.Sheets.removeByName("videos")
  Case "sheet-moved"
    Doc.Sheets.moveByName("listings", 6)
  Case "sheet-copied"
    Doc.Sheets.copyByName("listings", "listings_2", 3)
  Case "read-me-deleted"
    Doc.Sheets.removeByName("read me")
  ' Formats
  Case "format-euro"
    SetFormat(RangeOf("listings", "price_from", 1, 71), "#,##0.00 [$€-C0A]")
  Case "format-basque"
    SetFormat(RangeOf("listings", "price_from", 1, 71), "#,##0.00 [$€-42D]")
    Price().Value = 295000
  Case "format-date"
    SetFormat(Price(), "YYYY-MM-DD")
  Case "format-percent"
    SetFormat(RangeOf("listings", "price_from", 1, 71), "0.00%")
  Case "format-bold"
    RowAt("listings", 3).CharWeight = 150
    RowAt("listings", 3).CellBackColor = 16776960
    Sheet("listings").Columns.OptimalWidth = True
  Case "cells-merged"
    Sheet("listings").getCellRangeByPosition(2, 1, 2, 2).merge(True)
  ' Values
  Case "price"
    Price().Value = 295000
  Case "price-as-text"
    Price().String = "€ 295.000"
  Case "price-emptied"
    Price().String = ""
  Case "name-emptied"
    CellOf("listings", "casa-ginebrera", "name").String = ""
  Case "formula"
    Price().Formula = "=2*147500"
  Case "formula-error"
    Price().Formula = "=1/0"
  Case "date-typed"
    SetFormat(CellOf("listings", "casa-ginebrera", "fraction_from"), "General")
    CellOf("listings", "casa-ginebrera", "fraction_from").Formula = "2026-08-01"
  Case "word-upper-case"
    CellOf("listings", "casa-ginebrera", "status").String = " Sold_Out "
  Case "texts-replaced"
    ReplaceIn("photos", "Sitting room", "Living room")
  ' Texts
  Case "text-of-lines"
    CellOf("listings", "casa-ginebrera", "title.en").String = "One" & Chr(10) & Chr(10) & "Two"
  Case "text-emoji"
    CellOf("listings", "casa-ginebrera", "title.en").String = "Sea " & Chr(55356) & Chr(57098) & " home"
  Case "text-long"
    CellOf("listings", "casa-ginebrera", "description.en").String = String(32767, "x")
  Case "text-space"
    CellOf("listings", "casa-ginebrera", "city").String = "Port" & Chr(160) & "Sóller"
  Case "text-number"
    CellOf("listings", "casa-ginebrera", "hid").String = "00123"
  Case "text-translated"
    CellOf("listings", "casa-ginebrera", "title.fr").String = "La maison"
  End Select
End Sub
